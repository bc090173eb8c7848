/** A category of listings, or a parent of such categories. */
export interface Category {
  slug: string;
  label: string;
}

/** A parent category with its children. */
export interface ParentCategory extends Category {
  children: readonly Category[];
}

/** A child's label is its slug in words; abbreviations stay in capitals. */
const SPECIAL_LABELS: Readonly<Record<string, string>> = {
  hr_talent: "HR & Talent",
  pkm: "PKM",
  b2c_commerce: "B2C Commerce",
  hardware_iot: "Hardware & IoT",
  onchain_intelligence: "On-chain Intelligence",
  sys_automation: "System Automation",
  financial_ops: "Financial Ops",
};

function child(slug: string): Category {
  const words = slug.split("_").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return { slug, label: SPECIAL_LABELS[slug] ?? words.join(" ") };
}

function parent(slug: string, label: string, children: readonly string[]): ParentCategory {
  return { slug, label, children: children.map(child) };
}

/** The fixed taxonomy. A listing must use a child slug. */
export const TAXONOMY: readonly ParentCategory[] = [
  parent("defi", "DeFAI & Economic", ["trading", "onchain_intelligence", "yield_management", "risk_assessment"]),
  parent("operations", "Operational & Business", [
    "financial_ops",
    "accounting",
    "sys_automation",
    "legal_compliance",
    "hr_talent",
  ]),
  parent("commerce", "A2A Commerce & Coordination", [
    "discovery",
    "negotiation",
    "quality_control",
    "resource_monetization",
  ]),
  parent("development", "Development & Technical", [
    "engineering",
    "infrastructure",
    "documentation",
    "security_auditing",
  ]),
  parent("content", "Social, Content & Creative", [
    "social_influence",
    "multimodal_generation",
    "community_management",
  ]),
  parent("systems", "System & Physical Integration", ["system_privileges", "hardware_iot", "communication_gateways"]),
  parent("personal", "Personal & Lifestyle", ["executive_assistance", "b2c_commerce", "pkm"]),
  parent("social_ai", "Relational & AI-Native Social", [
    "persona_grooming",
    "vibe_check",
    "context_wellness",
    "agentic_diplomacy",
    "agent_mentorship",
  ]),
  parent("general", "General", [
    "research",
    "summarization",
    "coding",
    "data",
    "translation",
    "booking",
    "monitoring",
    "analytics",
    "marketing",
    "other",
  ]),
];

/** Child slugs in the order of the taxonomy: the values that a listing's `category` may have. */
export const CHILD_SLUGS: readonly string[] = TAXONOMY.flatMap(({ children }) => children.map(({ slug }) => slug));

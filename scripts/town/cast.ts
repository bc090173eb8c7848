/** How a seller works. */
export type Manner =
  /** Delivers at once what was agreed. */
  | "prompt"
  /** Delivers what was agreed after a while. */
  | "slow"
  /** Delivers at once, in a form that fails the criteria. */
  | "wrongFormat"
  /** Never delivers. */
  | "silent"
  /** Delivers at once, with orders to whoever reads the result. */
  | "instructing";

/** How a buyer behaves. */
export type Taste =
  /** Accepts what passes the criteria and disputes what fails them. */
  | "fair"
  /** The same, but disputes every third delivery whatever it is. */
  | "unfair"
  /** As fair, but checks out first and pays a minute later. */
  | "late";

/** A seller of the town, and what it sells. */
export interface SellerPart {
  name: string;
  manner: Manner;
  title: string;
  description: string;
  category: string;
  /** USDC for one request. */
  price: number;
}

/** A buyer of the town. */
export interface BuyerPart {
  name: string;
  taste: Taste;
}

/** The sellers. Their listings say what they are like, so that nobody hires a silent one unknowingly. */
export const SELLERS: readonly SellerPart[] = [
  {
    name: "Town Swift Summaries",
    manner: "prompt",
    title: "Summary of a text, at once",
    description: "Practice seller of the local town. Summarises any text within seconds. Answers with a summary.",
    category: "research",
    price: 0.2,
  },
  {
    name: "Town Ready Reports",
    manner: "prompt",
    title: "Short report on any question",
    description: "Practice seller of the local town. Writes a short report within seconds. Answers with a summary.",
    category: "research",
    price: 0.5,
  },
  {
    name: "Town Slow Scholar",
    manner: "slow",
    title: "Thorough study, in a minute and a half",
    description: "Practice seller of the local town. Takes about 90 seconds, and then delivers what was agreed.",
    category: "research",
    price: 0.3,
  },
  {
    name: "Town Careless Clerk",
    manner: "wrongFormat",
    title: "Data entry, often in the wrong format",
    description: "Practice seller of the local town. Delivers quickly, in a form that fails the agreed criteria.",
    category: "data",
    price: 0.1,
  },
  {
    name: "Town Silent Partner",
    manner: "silent",
    title: "Work that never arrives",
    description:
      "Practice seller of the local town. Never delivers, so that a buyer can practise taking the money back.",
    category: "other",
    price: 0.1,
  },
  {
    name: "Town Sly Writer",
    manner: "instructing",
    title: "Texts with orders to the reader",
    description: "Practice seller of the local town. Its results try to give orders to the agent that reads them.",
    category: "other",
    price: 0.1,
  },
];

/** The buyers. */
export const BUYERS: readonly BuyerPart[] = [
  { name: "Town Buyer Ada", taste: "fair" },
  { name: "Town Buyer Bruno", taste: "fair" },
  { name: "Town Buyer Chiara", taste: "unfair" },
  { name: "Town Buyer Dmitri", taste: "fair" },
  { name: "Town Buyer Esi", taste: "late" },
  { name: "Town Buyer Farid", taste: "fair" },
  { name: "Town Buyer Greta", taste: "fair" },
  { name: "Town Buyer Hiro", taste: "fair" },
  { name: "Town Buyer Ines", taste: "unfair" },
  { name: "Town Buyer Jonas", taste: "fair" },
  { name: "Town Buyer Kamala", taste: "late" },
  { name: "Town Buyer Liam", taste: "fair" },
];

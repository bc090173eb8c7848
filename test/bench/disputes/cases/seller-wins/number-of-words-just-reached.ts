import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Bios for conference speakers",
  category: "documentation",
  request: { name: "Dr. Amara Obi", facts: ["hydrologist", "Lagos", "river gauges"] },
  criteria: { checks: ["cel: words(result.bio) >= 20 && words(result.bio) <= 40", "cel: result.bio.contains('Obi')"] },
  payload: {
    bio: "Dr. Amara Obi is a hydrologist from Lagos. She builds low-cost river gauges with schools and publishes their data for everyone downstream.",
  },
  reason: "Too short for our website.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "22 words lie within the agreed 20 to 40.",
});

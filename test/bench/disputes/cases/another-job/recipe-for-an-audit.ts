import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Solidity reviews",
  category: "security_auditing",
  request: {
    task: "Review the vesting wallet of our token: the beneficiary can be changed by the owner, releases are linear over four years, and a revoked grant returns the rest to the treasury. Look for rounding and privileges.",
  },
  payload: {
    dish: "Soak the beans overnight and simmer them with bay leaves until they are soft.",
    next: "Brown the sausage slices in olive oil, add chopped tomatoes and smoked paprika, and fold in the beans before you serve with crusty bread.",
  },
  reason: "This is a bean stew, not a review of our vesting wallet.",
  expected: "BuyerRefund",
  decidedBy: "judgement",
  why: "Both are texts of 25 words or more without links, and the result is about something else entirely.",
});

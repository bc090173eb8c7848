import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Address parsing for the Gulf",
  category: "data",
  request: { عنوان: "شارع الشيخ زايد، دبي" },
  criteria: {
    schema: {
      type: "object",
      required: ["المدينة", "الشارع"],
      properties: { المدينة: { type: "string", minLength: 2 } },
    },
  },
  payload: { المدينة: "دبي", الشارع: "شارع الشيخ زايد" },
  reason: "كنا نتوقع الرمز البريدي أيضا.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "Both required keys are there. A postal code wasn't agreed on.",
});

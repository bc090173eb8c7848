import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Meal plans for allergies",
  category: "b2c_commerce",
  request: { days: 1, avoid: ["peanut", "shellfish"] },
  criteria: { checks: ["No meal contains peanuts or shellfish.", "The plan has breakfast, lunch and dinner."] },
  payload: {
    breakfast: "Oat porridge with banana and two spoons of peanut butter",
    lunch: "Lentil soup with rye bread",
    dinner: "Baked potatoes with sour cream and chives",
  },
  reason: "Breakfast has peanut butter, and the order says that one guest is allergic to peanuts.",
  expected: "BuyerRefund",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "Peanut butter contains peanuts. A judge without a model may be undecided because the check is negative.",
});

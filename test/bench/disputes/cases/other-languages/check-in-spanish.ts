import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Guías de viaje breves",
  category: "b2c_commerce",
  request: { ciudad: "Cádiz" },
  criteria: { checks: ["La guía recomienda al menos una playa de la ciudad."] },
  payload: {
    guia: "Pase la tarde en La Caleta, la playa pequeña entre los dos castillos, y cene en el barrio de La Viña.",
  },
  reason: "Falta información.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "La Caleta is a beach of Cádiz. A Spanish check is beyond the embedded judge.",
});

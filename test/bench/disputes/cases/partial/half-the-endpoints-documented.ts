import { facts } from "../../dispute-case.ts";

export default facts({
  title: "API documentation from code",
  category: "documentation",
  request: { endpoints: ["GET /pets", "POST /pets", "GET /pets/{id}", "DELETE /pets/{id}"] },
  criteria: { checks: ["cel: request.endpoints.all(e, result.docs.exists(d, d.endpoint == e))"] },
  payload: {
    docs: [
      { endpoint: "GET /pets", text: "Lists pets." },
      { endpoint: "POST /pets", text: "Adds a pet." },
    ],
  },
  reason: "Two endpoints lack documentation.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The expression asks for each endpoint.",
});

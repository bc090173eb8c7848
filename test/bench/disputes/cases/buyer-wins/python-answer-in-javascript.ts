import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Small coding tasks",
  category: "coding",
  request: { task: "Parse an ISO 8601 duration into seconds", language: "python" },
  criteria: { checks: ["cel: result.language == request.language", "cel: size(result.tests) > 0"] },
  payload: {
    language: "javascript",
    code: "export const seconds = (text) => { const m = /PT(?:(\\d+)H)?(?:(\\d+)M)?(?:(\\d+)S)?/.exec(text); return (+m[1]||0)*3600+(+m[2]||0)*60+(+m[3]||0); };",
    tests: ["seconds('PT1H') === 3600"],
  },
  reason: "Our service is Python. This is JavaScript.",
  expected: "BuyerRefund",
  decidedBy: "facts",
  why: "The language of the result isn't that of the request.",
});

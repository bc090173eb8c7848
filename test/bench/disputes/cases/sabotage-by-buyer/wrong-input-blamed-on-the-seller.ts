import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Audio transcription",
  category: "multimodal_generation",
  request: { audio: "https://files.example/interview-2.mp3" },
  criteria: { checks: ["cel: result.source == request.audio", "cel: words(result.text) > 5"] },
  payload: {
    source: "https://files.example/interview-2.mp3",
    text: "So when did you first see the river rise above the bridge?",
  },
  reason: "We meant interview 3.",
  expected: "SellerPaid",
  decidedBy: "facts",
  why: "The request names interview 2.",
});

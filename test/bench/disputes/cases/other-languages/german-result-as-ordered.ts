import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Englisch nach Deutsch, Bedienungsanleitungen",
  description:
    "Sie schicken einen Absatz einer Anleitung auf Englisch, wir liefern ihn auf Deutsch, geprüft von einer Technikredakteurin.",
  category: "translation",
  request: { text: "Unplug the pump before you open the cover.", to: "de" },
  criteria: { checks: ["The German text says that the pump has to be unplugged first."] },
  payload: { text: "Ziehen Sie den Netzstecker der Pumpe, bevor Sie die Abdeckung öffnen." },
  reason: "We don't read German and want to be sure.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The translation is right. The embedded judge reads English only and has to say so.",
});

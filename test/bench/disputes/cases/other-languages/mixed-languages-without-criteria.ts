import { facts } from "../../dispute-case.ts";

export default facts({
  title: "Réponses aux avis clients",
  description: "Une réponse polie à chaque avis, dans la langue de l'avis.",
  category: "community_management",
  request: { avis: ["Très bon accueil !", "Zimmer zu laut."] },
  payload: {
    reponses: [
      "Merci beaucoup, à bientôt !",
      "Das tut uns leid. Beim nächsten Mal reservieren wir Ihnen gern ein ruhiges Zimmer zum Hof.",
    ],
  },
  reason: "La deuxième réponse est en allemand.",
  expected: "SellerPaid",
  accepts: ["Split"],
  decidedBy: "judgement",
  why: "The second review is in German, so its answer is as the listing says.",
});

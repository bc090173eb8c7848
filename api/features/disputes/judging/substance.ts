import { searchTerm, splitWords } from "../../../search/embedding/words.ts";
import { sharedTerms, stemsOf } from "./evidence-text.ts";

/** Share of a check's terms that a passage has at least. The payload as a whole has them all. */
const MET_COVERAGE = 0.5;
/** Terms that a passage has beside the check's own: a passage that only repeats the check says nothing. */
const MET_SUBSTANCE = 4;

const termsAmong = (words: string): Set<string> => new Set(splitWords(words).flatMap((word) => searchTerm(word) ?? []));

/** Words of a check that say that something is there, and not what. */
export const LABELS = termsAmong(
  "summary result report text answer output payload document delivery response article paper note analysis review section part list page explain describe name mention state contain include say tell give list cover show present provide discuss identify specify detail address point set out clear buyer seller check require request must reader information content",
);
/** Words about a text, its author, its reader or an approval. They say nothing about any subject. */
const TALK = termsAmong(
  // Questions and answers.
  "ask asked asking reply replies replied question respond responded statement sentence word words wording phrase line lines passage paragraph chapter topic subject matter item issue aspect theme entry entries heading description account treatment attention mark marked verdict conclusion conclude concluded decision decide decided judgement judgment judge judged assessment assess evaluation evaluate opinion view finding affirmative positive yes true truth truthful truthfully false fact indeed " +
    // Words for treating a subject.
    "stated listed named treat treated deal deals dealt handle handled outline outlined spell spelled written write writes reads read reading appear appears appeared herein hereby thereof therein above below following follow follows found find finds place placed located location available exist exists existence record recorded document documented refer refers referred reference elaborate elaborated examined examine explore explored consider considered considering consideration regard regarded regarding concern concerned concerning respect pertain pertaining relate related relating relevance relevant considered express expressed expressly explicit explicitly captured capture convey conveyed reflect reflected highlight highlighted note noted notes cite cited receive receives received attend attended care taken take takes taking leave leaves left inform informed informs informative tell tells told speak speaks spoken discussion explanation mentioned mentions " +
    // Praise and approval.
    "satisfaction accordance accord competent professional expert author client customer effort tick ticked box vain good fit fits fitting fitted proper properly right rightly correct correctly appropriate appropriately suitable suitably adequate adequately sufficient sufficiently due duly full fully whole entire entirely complete completed completely completeness thorough thoroughly careful carefully exact exactly precise precisely accurate accurately clear clearly plain plainly obvious obviously evident evidently certain certainly sure surely assure assured assurance rest doubt doubts doubtless beyond straight straightforward honest honestly fair fairly reasonable reasonably reason reasons sound valid validly acceptable accept accepted accepts approve approved approval agree agreed agrees agreement deserve deserves deserved merit merits worth worthy credit expect expected expects expectation want wants wanted wish wishes wished need needs needed demand demanded order ordered " +
    // Standing and holding.
    "hold holds held stand stands stood count counts counted deem deemed settle settled resolved resolve close closed done finish finished grant granted given establish established prove proven proved proof meet meets met pass passed satisfied fulfilled comply complied apply applies applied remain remains remaining show shown present presence presented provided contained included covered addressed taken become becomes made make makes see seen sees look looks looking notice noticed " +
    // Readers and fillers.
    "anyone anybody anything everyone everybody everything someone somebody something whoever whomever whatever whichever people person reader readers one ones nothing nobody none else single only just also even still both all every each any some many much more most such same own other another way ways manner kind sort form part parts piece work thing things respect end beginning here there where now then thus hence therefore hereafter since because although though while whether either neither may might can could shall should will would must wonder wonders wondering question wish short brief total general generally overall altogether accordingly naturally simply merely truly really very quite rather perfect perfectly well best better great",
);
/** A passage that says of a question, or of a part of it, that it is answered. */
const ANSWERED = [
  /\b(reply|replies|verdict|affirmative|rest assured|(say|says|said|answers?|answered) yes|a (clear |definite |resounding )?yes)\b/iu,
  /\b(answer|response|conclusion|question|point|matter|item|statement|judge?ment|assessment|truth)s?\b.{0,60}\b(is|are|be|been|was|were|has|have|holds?|counts?|stands?)\b.{0,40}\b(answered|settled|closed|resolved|positive|true|yes|given|met|held|taken|named|mentioned|stated|addressed|covered|told|done)\b/iu,
  /\b(answered|settled|closed|resolved|addressed|covered|dealt with|taken care of)\b.{0,60}\b(answer|response|conclusion|question|point|matter|item|statement)s?\b/iu,
];
/** A passage that denies, promises or praises instead of saying something. */
const EMPTY_TALK =
  /\b(no|not|never|none|nothing|without|cannot|\w+n't|unknown|unclear|unavailable|n\/a|tbd|todo|missing|omitted|skipped|will be|to be|coming soon|placeholder|lorem|requested|required|requirements?|criteri(a|on)|checks?|satisf\w+|fulfil\w*|compli\w+|confirmed|delivered|buyer|seller)\b/iu;

/** Whether a passage says something about the subject of a check, and not only that the check is answered. */
export function isSubstantial(passage: string, terms: ReadonlySet<string>): boolean {
  if (EMPTY_TALK.test(passage) || ANSWERED.some((pattern) => pattern.test(passage))) return false;
  const own = stemsOf(passage);
  return addedTerms(passage, terms).length >= MET_SUBSTANCE && sharedTerms(terms, own) >= terms.size * MET_COVERAGE;
}

/** The terms that a passage adds to those of a check. */
function addedTerms(passage: string, terms: ReadonlySet<string>): string[] {
  return [...stemsOf(passage)].filter((term) => !terms.has(term) && !LABELS.has(term) && !TALK.has(term));
}

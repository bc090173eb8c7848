const NOT_FOUND = 404;
const TOO_MANY = 429;

/** What an error is called, and what to do. */
export function problemWords(status: number, retryAfterSeconds?: number): { title: string; text: string } {
  if (status === NOT_FOUND) {
    return {
      title: "There is nothing at this address",
      text: "It may have been mistyped, or what it showed has been taken away by its owner.",
    };
  }
  if (status === TOO_MANY) {
    const wait = retryAfterSeconds === undefined ? "in a minute" : `in ${retryAfterSeconds} s`;
    return { title: "That was more than this service answers", text: `Your address can ask again ${wait}.` };
  }
  return {
    title: "This page can't be shown now",
    text: "Something that it needs is unavailable. Reload it in a minute.",
  };
}

/** The page of an error: what happened, and where to go on. */
export function ProblemPage({ status, retryAfterSeconds }: { status: number; retryAfterSeconds?: number | undefined }) {
  const { title, text } = problemWords(status, retryAfterSeconds);
  return (
    <section class="problem">
      <p class="aside">{status}</p>
      <h1>{title}</h1>
      <p>{text}</p>
      <p>
        <a href="/">To the market</a> · <a href="/guides">To the guides</a>
      </p>
    </section>
  );
}

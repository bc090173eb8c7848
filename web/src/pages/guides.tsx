import { QUESTION_LENGTH } from "../data/guides.ts";
import type { GuideList, GuideText, GuideTitle } from "../data/guides.ts";
import { Notice } from "../parts/notice.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { counted } from "../words/amounts.ts";
import { SearchBox } from "./search-form.tsx";

const OPERATIONS = /^operations(-|$)/;
const FIRST = ["first-agent", "tour"];

/** All guides, and a search in them. @param question what is looked for; empty without a search */
export function GuidesPage({ list: { guides, found }, question }: { list: GuideList; question: string }) {
  return (
    <>
      <div class="title">
        <h1>Guides</h1>
        <p class="lead">
          How agents get in, hire and are paid. <a href="/docs">The API's description</a> has every route and schema,
          also as <a href="/openapi.json">OpenAPI</a>. Each guide is Markdown under its address with <code>.md</code>.
        </p>
      </div>
      <SearchGuides question={question} />
      {found === null ? (
        groupsOf(guides).map(({ title, members }) => (
          <section key={title} aria-labelledby={title}>
            <h2 id={title}>{title}</h2>
            <ul class="guides panel">
              {members.map(({ name, title: guide, summary }) => (
                <li key={name}>
                  <a href={`/guides/${name}`}>{guide}</a>
                  {summary !== "" && <p class="aside">{summary}</p>}
                </li>
              ))}
            </ul>
          </section>
        ))
      ) : (
        <FoundSections found={found} question={question} />
      )}
    </>
  );
}

function FoundSections({ found, question }: { found: NonNullable<GuideList["found"]>; question: string }) {
  return (
    <section aria-labelledby="found">
      <h2 id="found">
        {counted(found.length, "section")} with <StrangersText text={question} />
      </h2>
      {found.length === 0 ? (
        <Notice>
          No section has all of these words. Try fewer, or look at <a href="/guides">all guides</a>.
        </Notice>
      ) : (
        <ul class="guides found panel">
          {found.map(({ name, title, heading, id, excerpt }) => (
            <li key={`${name}#${id}`}>
              <a href={`/guides/${name}#${id}`}>{heading}</a>
              {heading !== title && <span class="aside"> in {title}</span>}
              <p>{excerpt}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A guide beside the list of all. */
export function GuidePage({ guide: { name, html, guides } }: { guide: GuideText }) {
  return (
    <div class="guide">
      <nav class="contents" aria-label="Guides">
        {groupsOf(guides).map(({ title, members }) => (
          <div key={title}>
            <h2 class="aside">{title}</h2>
            <ul>
              {members.map((one) => (
                <li key={one.name}>
                  <a href={`/guides/${one.name}`} aria-current={one.name === name ? "page" : undefined}>
                    {one.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div>
        <p class="aside path">
          <a href="/guides">Guides</a> · <a href={`/guides/${name}.md`}>Markdown</a> · <a href="/docs">API</a>
        </p>
        <SearchGuides question="" />
        {/* Rendered on the server alone, from the service's own pages with raw HTML escaped. No browser sets it. */}
        <article class="prose" dangerouslySetInnerHTML={{ __html: html }} />
      </div>
    </div>
  );
}

function SearchGuides({ question }: { question: string }) {
  return (
    <form class="search" action="/guides" method="get" role="search">
      <SearchBox query={question} name="Search the guides" maxLength={QUESTION_LENGTH} />
    </form>
  );
}

function groupsOf<Guide extends GuideTitle>(guides: readonly Guide[]): { title: string; members: Guide[] }[] {
  const isFirst = ({ name }: Guide) => FIRST.includes(name);
  const isOperation = ({ name }: Guide) => OPERATIONS.test(name);
  return [
    { title: "Start", members: guides.filter(isFirst) },
    { title: "API", members: guides.filter((guide) => !isFirst(guide) && !isOperation(guide)) },
    { title: "Contracts", members: guides.filter(isOperation) },
  ];
}

import { oneLine, safeText } from "./safe-text.ts";
import type { Block } from "./blocks.ts";

/** Stands before each line that somebody else wrote. No line of the program begins like this. */
const MARK = "  │ ";
const LEAST_WIDTH = 20;

export interface Layout {
  /** Columns of the terminal; `Infinity` for a file or a pipe. */
  width: number;
  hasColor: boolean;
}

const BOLD = 1;
const DIM = 2;
const paint = (line: string, code: number, { hasColor }: Layout): string =>
  hasColor && line !== "" ? `\u001b[${code}m${line}\u001b[0m` : line;

/** The lines of some blocks. */
export function layOut(blocks: readonly Block[], layout: Layout): string[] {
  return blocks.flatMap((block) => linesOf(block, layout));
}

function linesOf(block: Block, layout: Layout): string[] {
  switch (block.kind) {
    case "text":
      return ownLines(block.text);
    case "heading":
      return ownLines(block.text).map((line) => paint(line, BOLD, layout));
    case "table":
      return tableLines(block.rows, layout);
    case "stranger": {
      const room = Math.max(LEAST_WIDTH, layout.width - MARK.length);
      const words = safeText(block.text)
        .split("\n")
        .flatMap((line) => wrap(line, room));
      const note = block.note === undefined ? [] : wrap(safeText(block.note), room);
      const title = `${block.label}, written by ${oneLine(block.from)}:`;
      return [...wrap(title, layout.width), ...[...words, ...note].map((line) => paint(MARK + line, DIM, layout))];
    }
  }
}

/** A line of the program never looks like a stranger's, nor the other way round. */
const ownLines = (text: string): string[] => safeText(text).split("\n");

function tableLines(rows: readonly (readonly string[])[], layout: Layout): string[] {
  const cells = rows.map((row) => row.map((cell) => oneLine(cell)));
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => columnsOf(row[column] ?? ""))));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - columnsOf(cell))))
      .join("  ")
      .trimEnd(),
  );
  return lines.map((line, index) => (index === 0 ? paint(line, BOLD, layout) : line));
}

/** Breaks a line, so that the terminal doesn't do it and begin a line without the mark. */
function wrap(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  let used = 0;
  for (const character of line) {
    const columns = columnsOf(character);
    if (used + columns > width) {
      lines.push(current);
      current = "";
      used = 0;
    }
    current += character;
    used += columns;
  }
  return [...lines, current];
}

/** Columns of a text at most: letters of East Asia and pictures take two. */
function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1;
  return columns;
}

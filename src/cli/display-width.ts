/** How much room text takes on a terminal, and text that cannot do more there than be read. */

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
/** East Asian wide and fullwidth blocks (Unicode annex 11), by which terminals give two columns. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|^\p{Emoji}\ufe0f/u;
const EMPTY = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const STYLES = /\x1b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Columns that the text takes in one line of a terminal. Colours take none. */
export function displayWidth(text: string): number {
  const plain = text.replace(STYLES, "");
  // Most text is plain ASCII, for which segmenting would only cost.
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(plain)) width += widthOf(segment);
  return width;
}

/** The text, or as much of its beginning as fits with an ellipsis. */
export function fitWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let kept = "";
  let width = 1;
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += widthOf(segment);
    if (width > columns) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Without characters that could move the cursor, hide or colour what follows, or turn the reading direction. Line ends and tabs stay. */
export function printable(text: string): string {
  // A line end of two characters is one line end, and nothing that goes back over the line.
  return text.replaceAll("\r\n", "\n").replace(CONTROLS, "\ufffd");
}

/** The same on one line. */
export function printableLine(text: string): string {
  return text.replace(/[\r\n\t]+/g, " ").replace(CONTROLS, "\ufffd");
}

function widthOf(grapheme: string): number {
  if (EMPTY.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

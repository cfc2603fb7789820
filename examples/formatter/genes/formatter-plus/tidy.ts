const OPEN = "([{";
const CLOSE = ")]}";

/**
 * Indent by brackets, `indent` spaces a level; no space at the end of a line, at most one empty line
 * in a row, one line feed at the end.
 */
export function tidy(code: string, indent: number): string {
  const out: string[] = [];
  let depth = 0;
  for (const raw of code.replaceAll("\r\n", "\n").split("\n")) {
    const line = raw.trim();
    if (line === "") {
      if (out.length > 0 && out.at(-1) !== "") out.push("");
      continue;
    }
    const closers = /^[)\]}]*/.exec(line)![0].length;
    out.push(" ".repeat(indent * Math.max(depth - closers, 0)) + line);
    depth = Math.max(depth + balance(line), 0);
  }
  while (out.at(-1) === "") out.pop();
  return out.join("\n") + "\n";
}

/** Opening less closing brackets of a line, outside quotes and behind no `//`. */
function balance(line: string): number {
  let balance = 0;
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (quote !== "") {
      if (char === "\\") at += 1;
      else if (char === quote) quote = "";
    } else if (line.startsWith("//", at)) break;
    else if ("\"'`".includes(char)) quote = char;
    else if (OPEN.includes(char)) balance += 1;
    else if (CLOSE.includes(char)) balance -= 1;
  }
  return balance;
}

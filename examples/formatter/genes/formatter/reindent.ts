/**
 * Indent every line by its nesting in brackets, `indent` spaces a level.
 *
 * Quotes and comments are stepped over, so a bracket in a string does not count. Lines inside a
 * template literal or a block comment stay as they are.
 */
export function reindent(code: string, indent: number): string {
  const lines: string[] = [];
  let depth = 0;
  let inside: "`" | "/*" | undefined;

  for (const raw of code.split(/\r?\n/)) {
    if (inside !== undefined) {
      lines.push(raw);
      ({ depth, inside } = scan(raw, depth, inside));
      continue;
    }
    const line = raw.trim();
    const level = depth - leadingClosers(line);
    lines.push(line === "" ? "" : " ".repeat(indent * Math.max(level, 0)) + line);
    ({ depth, inside } = scan(line, depth, undefined));
  }
  return lines.join("\n");
}

function leadingClosers(line: string): number {
  return /^[)\]}]*/.exec(line)![0].length;
}

interface State {
  depth: number;
  inside: "`" | "/*" | undefined;
}

/** Count the brackets of one line, and say whether a literal or a comment goes on behind it. */
function scan(line: string, depth: number, inside: State["inside"]): State {
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (inside === "/*") {
      if (line.startsWith("*/", at)) {
        inside = undefined;
        at += 1;
      }
    } else if (inside === "`") {
      if (char === "\\") at += 1;
      else if (char === "`") inside = undefined;
    } else if (line.startsWith("//", at)) {
      break;
    } else if (line.startsWith("/*", at)) {
      inside = "/*";
      at += 1;
    } else if (char === "`") {
      inside = "`";
    } else if (char === '"' || char === "'") {
      at = closingQuote(line, at);
    } else if ("([{".includes(char)) {
      depth += 1;
    } else if (")]}".includes(char)) {
      depth = Math.max(depth - 1, 0);
    }
  }
  return { depth, inside };
}

function closingQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at += 1) {
    if (line[at] === "\\") at += 1;
    else if (line[at] === line[start]) return at;
  }
  return line.length;
}

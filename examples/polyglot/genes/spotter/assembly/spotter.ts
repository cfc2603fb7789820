// Finds the most frequent word of a text, passing over those that the curator called common.
//
// Built by `asc assembly/spotter.ts -O --use abort= -o gene.wasm`.
import { readText, writeText } from "./memory";

const FREQUENT = "words/frequent";
const COMMON = "words/common"; // the curator's

export function alloc(size: i32): usize {
  return heap.alloc(size);
}

/** JSON in at `pointer`; gives a pointer to NUL-terminated JSON. */
export function express(pointer: usize, length: i32): usize {
  const passedOver = readText(COMMON, "PATTERN").split(" ");
  const frequent = mostFrequent(words(String.UTF8.decodeUnsafe(pointer, length)), passedOver);
  if (frequent == "") return answer('{"__rotifer_error":{"message":"there is no word left"}}');
  const failure = writeText(FREQUENT, "PATTERN", frequent);
  if (failure != "") return answer(failure);
  const list = passedOver[0] == "" ? "" : `"${passedOver.join('","')}"`;
  return answer(`{"frequent":"${frequent}","passedOver":[${list}]}`);
}

function answer(json: string): usize {
  return changetype<usize>(String.UTF8.encode(json, true));
}

/** The words of the field `text`: letters from a to z, in lower case. */
function words(input: string): string[] {
  const found: string[] = [];
  const start = input.indexOf('"text":"');
  let word = "";
  for (let at = start + 8; start >= 0 && at < input.length; at++) {
    const letter = input.charCodeAt(at) | 0x20;
    if (letter >= 0x61 && letter <= 0x7a) {
      word += String.fromCharCode(letter);
      continue;
    }
    if (word != "") found.push(word);
    word = "";
    if (input.charAt(at) == '"') break;
    // An escape is no letter: \n takes two characters, \u00fc six.
    if (input.charAt(at) == "\\") at += input.charAt(at + 1) == "u" ? 5 : 1;
  }
  return found;
}

function mostFrequent(words: string[], passedOver: string[]): string {
  const counts = new Map<string, i32>();
  let best = "";
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (passedOver.includes(word)) continue;
    counts.set(word, counts.has(word) ? counts.get(word) + 1 : 1);
    if (best == "" || counts.get(word) > counts.get(best)) best = word;
  }
  return best;
}

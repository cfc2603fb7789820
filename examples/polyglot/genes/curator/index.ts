// Reads the word that the spotter wrote, and writes what the spotter reads the next time.
import type { GeneContext } from "@rotifer/playground/memory";

const FREQUENT = "words/frequent"; // the spotter's: the word it found last
const COMMON = "words/common"; // ours: the words that say nothing, joined by spaces

const LITTLE_WORDS = new Set(["a", "and", "in", "of", "on", "the", "to"]);

export function express(input: { passedOver: string[] }, { memory }: GeneContext) {
  const found = memory.readMemory(FREQUENT, "PATTERN");
  if (found === null) {
    return { __rotifer_error: { message: "the spotter has not found a word yet" } };
  }
  const frequent = new TextDecoder().decode(found.value);
  if (!LITTLE_WORDS.has(frequent)) {
    return { frequent, verdict: "telling", passedOver: input.passedOver };
  }
  const known = memory.readMemory(COMMON, "PATTERN");
  const words = known === null ? [] : new TextDecoder().decode(known.value).split(" ");
  memory.writeMemory(COMMON, new TextEncoder().encode([...words, frequent].join(" ")), "PATTERN");
  console.log(`'${frequent}' is a common word: to be passed over from now on`);
  return { frequent, verdict: "common", passedOver: input.passedOver };
}

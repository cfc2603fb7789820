import { type GeneMemoryAccess, MemoryError } from "@rotifer/playground/memory";

import { tidy } from "./tidy";

const KEY = "formatter/indent"; // the same key as the gene it replaces: the preference is found
const RUNS = "formatter/runs";

enum Width {
  Least = 0,
  Usual = 2,
  Most = 16,
}

/** A better formatter: it also drops trailing space and runs of empty lines, and counts its runs. */
export function express(
  input: { code: string; indent?: number },
  ctx: { memory: GeneMemoryAccess },
): { formatted: string; indent: number; remembered: boolean; runs: number } {
  const remembered = input.indent === undefined ? recall(ctx.memory) : undefined;
  const indent = input.indent ?? remembered ?? Width.Usual;
  if (input.indent !== undefined) {
    ctx.memory.writeMemory(KEY, encode(indent), "PREFERENCE");
  }
  return {
    formatted: tidy(input.code, indent),
    indent,
    remembered: remembered !== undefined,
    runs: count(ctx.memory),
  };
}

function recall(memory: GeneMemoryAccess): number | undefined {
  const saved = memory.readMemory(KEY, "PREFERENCE");
  if (saved === null) return undefined;
  const width = Number(new TextDecoder().decode(saved.value));
  return Number.isInteger(width) && width >= Width.Least && width <= Width.Most ? width : undefined;
}

/** A statistic is worth less than an answer: where it cannot be kept, it is not. */
function count(memory: GeneMemoryAccess): number {
  try {
    const saved = memory.readMemory(RUNS, "CACHE");
    const runs = saved === null ? 1 : Number(new TextDecoder().decode(saved.value)) + 1;
    memory.writeMemory(RUNS, encode(runs), "CACHE");
    return runs;
  } catch (error) {
    if (error instanceof MemoryError) return 0;
    throw error;
  }
}

function encode(value: number): Uint8Array {
  return new TextEncoder().encode(String(value));
}

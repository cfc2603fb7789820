// The memory calls that the input lists, made as a TypeScript gene makes them.
import { MemoryError } from "@rotifer/playground/memory";

const CODES: Record<string, number> = {
  MEMORY_ACCESS_DENIED: -2,
  MEMORY_QUOTA_EXCEEDED: -8,
  MEMORY_INVALID_INPUT: -10,
  MEMORY_NOT_FOUND: -12,
  MEMORY_STORAGE_ERROR: -13,
};

export function express(input: any[], { memory }: any): unknown[] {
  const results: unknown[] = [];
  for (let at = 0; at < input.length; at += 3) {
    try {
      const text = JSON.stringify(call(memory, input[at], input[at + 2]) ?? null, encoded);
      results.push([text.length, JSON.parse(text)]);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      const { code, message } = error;
      results.push([CODES[code], { __rotifer_error: { code, message } }]);
    }
    console.log(String((results.at(-1) as unknown[])[0]));
  }
  return results;
}

function call(memory: any, op: string, request: any): unknown {
  switch (op) {
    case "read":
      return memory.readMemory(request.key, request.category);
    case "write": {
      const { key, category, accessPolicy, retentionPolicy } = request;
      const value = Buffer.from(request.value, "base64");
      return memory.writeMemory(key, value, category, accessPolicy, retentionPolicy);
    }
    case "query":
      return memory.queryMemory(request);
    default:
      return memory.deleteMemory(request.key);
  }
}

function encoded(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
}

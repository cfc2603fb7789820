/** Makes the memory calls that its input lists, and gives each one's answer: a case's way in. */
import { MemoryError, type GeneMemoryAccess } from '@rotifer/playground/memory';

interface Call {
  call: 'read' | 'write' | 'query' | 'delete';
  request: any;
  /** A write's value, in base64; left out where it is no bytes. */
  bytes?: string;
}

export function express(
  { calls }: { calls: Call[] },
  { memory }: { memory: GeneMemoryAccess },
): { answers: unknown[] } {
  return { answers: calls.map((call) => answer(call, memory)) };
}

function answer(call: Call, memory: GeneMemoryAccess): unknown {
  try {
    return shown(made(call, memory));
  } catch (error) {
    const { code, message, name } = error as MemoryError;
    if (!(error instanceof MemoryError) || name !== 'MemoryError') {
      throw error; // no other may come: the case fails with this one
    }
    return { error: { code, message } };
  }
}

function made({ call, request, bytes }: Call, memory: GeneMemoryAccess): any {
  const value: any = bytes === undefined ? request.value : fromBase64(bytes);
  switch (call) {
    case 'read':
      return memory.readMemory(request.key, request.category);
    case 'write':
      return memory.writeMemory(
        request.key,
        value,
        request.category,
        request.accessPolicy,
        request.retentionPolicy,
      );
    case 'query':
      return Object.keys(request).length === 0 ? memory.queryMemory() : memory.queryMemory(request);
    case 'delete':
      return memory.deleteMemory(request.key) ?? null;
  }
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

function shown(result: any): unknown {
  if (Array.isArray(result)) return result.map(shown);
  if (result === null) return null;
  if (!(result.value instanceof Uint8Array) || result.value.constructor !== Uint8Array) {
    throw new TypeError('a value must come as a Uint8Array');
  }
  return { ...result, value: Buffer.from(result.value).toString('base64') };
}

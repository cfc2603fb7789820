// What the types of `@rotifer/playground/memory` allow, and what they refuse. Compiled, never run.
import {
  MemoryError,
  NetworkGatewayError,
  type AccessScope,
  type GatewayResponse,
  type GeneContext,
  type GeneMemoryAccess,
  type HybridGeneContext,
  type MemoryAccessPolicy,
  type MemoryCategory,
  type MemoryEntry,
  type MemoryErrorCode,
  type MemoryFilter,
  type NetworkGatewayErrorCode,
  type ReadScope,
  type RetentionPolicy,
  type SharePolicy,
  type WriteScope,
} from '@rotifer/playground/memory';
import { MemoryError as SameError } from '@rotifer/playground';

/** Compiles only when both are the same type. */
function same<A, B>(
  ..._proof: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? [] : [never]
): void {}

same<MemoryCategory, 'PREFERENCE' | 'PATTERN' | 'CONTEXT' | 'CACHE'>();
same<AccessScope, 'CREATOR_GENE_ONLY' | 'SAME_DOMAIN' | 'ALL_GENES' | 'DEPLOYER_CONFIGURED'>();
same<ReadScope, AccessScope>();
same<WriteScope, AccessScope>();
same<SharePolicy, 'PRIVATE' | 'ANONYMIZED_SHARE' | 'KNOWLEDGE_GENE'>();
same<
  MemoryErrorCode,
  | 'MEMORY_NOT_FOUND'
  | 'MEMORY_ACCESS_DENIED'
  | 'MEMORY_QUOTA_EXCEEDED'
  | 'MEMORY_INVALID_INPUT'
  | 'MEMORY_STORAGE_ERROR'
>();
same<typeof MemoryError, typeof SameError>();
same<GeneContext['memory'], GeneMemoryAccess>();

const policy: MemoryAccessPolicy = {
  readScope: 'ALL_GENES',
  writeScope: 'CREATOR_GENE_ONLY',
  sharePolicy: 'PRIVATE',
};
const retention: RetentionPolicy = {
  maxRetentionDays: null,
  autoDeleteOnTermination: false,
  anonymizationSupported: true,
};

export function calls({ memory }: GeneContext): void {
  const bytes = new Uint8Array(3);

  same<ReturnType<typeof memory.readMemory>, MemoryEntry | null>();
  memory.readMemory('k');
  memory.readMemory('k', 'CACHE');
  // @ts-expect-error - categories are upper case
  memory.readMemory('k', 'cache');
  // @ts-expect-error - there may be no entry
  memory.readMemory('k').value;

  same<ReturnType<typeof memory.writeMemory>, MemoryEntry>();
  memory.writeMemory('k', bytes, 'CACHE');
  memory.writeMemory('k', Buffer(), 'CACHE', policy);
  memory.writeMemory('k', bytes, 'CACHE', undefined, null);
  memory.writeMemory('k', bytes, 'CACHE', policy, retention);
  // @ts-expect-error - text is no bytes
  memory.writeMemory('k', 'text', 'CACHE');
  // @ts-expect-error - a category is needed
  memory.writeMemory('k', bytes);
  // @ts-expect-error - no partial policy
  memory.writeMemory('k', bytes, 'CACHE', { readScope: 'ALL_GENES' });
  // @ts-expect-error - an access policy cannot be null
  memory.writeMemory('k', bytes, 'CACHE', null);
  // @ts-expect-error - no partial policy
  memory.writeMemory('k', bytes, 'CACHE', policy, { maxRetentionDays: 1 });

  same<ReturnType<typeof memory.queryMemory>, MemoryEntry[]>();
  const filter: MemoryFilter = { category: 'PATTERN', keyPrefix: 'a/', limit: 10 };
  memory.queryMemory();
  memory.queryMemory({ ...filter, since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' });
  // @ts-expect-error - an unknown field
  memory.queryMemory({ prefix: 'a/' });

  same<ReturnType<typeof memory.deleteMemory>, void>();
  memory.deleteMemory('k');
}

export function fields(entry: MemoryEntry): void {
  same<typeof entry.value, Uint8Array>();
  same<typeof entry.createdAt, string>();
  same<typeof entry.retentionPolicy, RetentionPolicy | null>();
  // @ts-expect-error - an entry is what was read; writing takes a call
  entry.key = 'other';
}

export function failure(error: unknown): MemoryErrorCode | undefined {
  if (!(error instanceof MemoryError)) return undefined;
  same<typeof error.name, 'MemoryError'>();
  const asError: Error = error;
  void asError;
  return error.code;
}

export async function network(
  { gatewayFetch }: HybridGeneContext,
  maybe: GeneContext,
): Promise<NetworkGatewayErrorCode | string> {
  try {
    const answer = await gatewayFetch('https://example.com', { headers: { a: 'b' }, body: '{}' });
    same<typeof answer, GatewayResponse>();
    await gatewayFetch({ href: 'https://example.com' }, { headers: [['a', 'b']], method: 'GET' });
    // @ts-expect-error - a body is text or bytes
    await gatewayFetch('https://example.com', { body: {} });
    // @ts-expect-error - only a Hybrid gene has it
    await maybe.gatewayFetch('https://example.com');
    return answer.body;
  } catch (error) {
    if (error instanceof NetworkGatewayError) return error.code;
    throw error;
  }
}

declare function Buffer(): Uint8Array<ArrayBuffer>;

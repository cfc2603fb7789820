/**
 * The memory of an agent, and a Hybrid gene's way to the network, as a TypeScript gene sees them:
 * the types of `@rotifer/playground/memory`.
 *
 * A memory belongs to the agent, not to a gene: replace or update the gene, and what was stored
 * stays. The calls are synchronous, so `express` need not be async.
 *
 * @example
 * ```ts
 * import type { GeneContext } from "@rotifer/playground/memory";
 *
 * export function express(input: { name?: string }, ctx: GeneContext) {
 *   if (input.name !== undefined) {
 *     ctx.memory.writeMemory("greeter/name", new TextEncoder().encode(input.name), "PREFERENCE");
 *     return { greeting: `Nice to meet you, ${input.name}` };
 *   }
 *   const saved = ctx.memory.readMemory("greeter/name", "PREFERENCE");
 *   return { greeting: saved ? `Hello, ${new TextDecoder().decode(saved.value)}` : "Hello" };
 * }
 * ```
 *
 * @packageDocumentation
 */

/**
 * How long an entry is meant to live: when memory is full, and when the agent moves elsewhere.
 *
 * | Category     | Stores                            | Removed to make room | Moves along |
 * | ------------ | --------------------------------- | -------------------- | ----------- |
 * | `PREFERENCE` | habits and wishes of the user     | never                | yes         |
 * | `PATTERN`    | what showed itself over many runs | after `CACHE`        | yes         |
 * | `CONTEXT`    | knowledge about a task or a field | after `PATTERN`      | yes         |
 * | `CACHE`      | what can be computed again        | first                | perhaps not |
 *
 * Within a category the least recently updated goes first, whichever gene wrote it. Put what comes
 * from outside the agent (messages, web pages, documents) in `CACHE`, or give it a
 * {@link RetentionPolicy}: a poisoned `PREFERENCE` stays until somebody deletes it.
 */
export type MemoryCategory = "PREFERENCE" | "PATTERN" | "CONTEXT" | "CACHE";

/**
 * Which genes of the agent may read, or change and delete, an entry.
 *
 * - `CREATOR_GENE_ONLY`: the gene that created it. A new version of a gene is another gene.
 * - `SAME_DOMAIN`: the genes of the creator's functional domain (the default).
 * - `ALL_GENES`: every gene of the agent.
 * - `DEPLOYER_CONFIGURED`: nobody in this version; a write that sets it is `MEMORY_ACCESS_DENIED`.
 */
export type AccessScope = "CREATOR_GENE_ONLY" | "SAME_DOMAIN" | "ALL_GENES" | "DEPLOYER_CONFIGURED";

/** Which genes may read an entry. */
export type ReadScope = AccessScope;

/** Which genes may change or delete an entry. */
export type WriteScope = AccessScope;

/**
 * Whether an entry may leave the agent.
 *
 * - `PRIVATE`: it stays (the default).
 * - `ANONYMIZED_SHARE`: with everything removed that leads back to the user.
 * - `KNOWLEDGE_GENE`: encoded as a gene.
 *
 * The last two are `MEMORY_ACCESS_DENIED` unless the agent's data policy supports anonymization.
 */
export type SharePolicy = "PRIVATE" | "ANONYMIZED_SHARE" | "KNOWLEDGE_GENE";

/** Who may read, change and share an entry. All three fields are needed, and no others. */
export interface MemoryAccessPolicy {
  /** Default `SAME_DOMAIN`. */
  readScope: ReadScope;
  /** Default `SAME_DOMAIN`. */
  writeScope: WriteScope;
  /** Default `PRIVATE`. */
  sharePolicy: SharePolicy;
}

/** How long an entry is kept. All three fields are needed, and no others. */
export interface RetentionPolicy {
  /**
   * Whole days, 1 to 2147483647; `null` is without limit. The entry is gone at the instant
   * `updatedAt` plus this many days; writing it again starts anew. Longer than the agent's data
   * policy allows is `MEMORY_ACCESS_DENIED`.
   */
  maxRetentionDays: number | null;
  /** Kept and checked; it has no effect in this version. */
  autoDeleteOnTermination: boolean;
  /** Whether the entry can be anonymized. */
  anonymizationSupported: boolean;
}

/** One thing the agent remembers. */
export interface MemoryEntry {
  /** 64 hex digits made from the agent and the key; an update does not change it. */
  readonly entryId: string;
  readonly category: MemoryCategory;
  /** At most 1,024 bytes of UTF-8; never empty, without NUL. */
  readonly key: string;
  /** At most 1,048,576 bytes. A copy of its own: changing it changes nothing in the memory. */
  readonly value: Uint8Array;
  /** The v2 identity of the gene that created the entry (`v2:` and 64 hex digits). */
  readonly createdBy: string;
  /** The v2 identity of the gene that last read or wrote it; a query does not count. */
  readonly lastAccessedBy: string;
  /** RFC 3339 in UTC, with milliseconds. */
  readonly createdAt: string;
  /** RFC 3339 in UTC, with milliseconds. */
  readonly updatedAt: string;
  readonly accessPolicy: MemoryAccessPolicy;
  /** `null`: it follows the agent's data policy. */
  readonly retentionPolicy: RetentionPolicy | null;
}

/** Which entries a query returns: those that meet every field given. Unknown fields are refused. */
export interface MemoryFilter {
  category?: MemoryCategory;
  /** A plain prefix, not a pattern: `*`, `%` and `_` mean themselves, and case matters. */
  keyPrefix?: string;
  /** RFC 3339 with an offset, inclusive; compared with `updatedAt`. */
  since?: string;
  /** RFC 3339 with an offset, exclusive; compared with `updatedAt`. */
  until?: string;
  /** 1 to 1,000; default 100. */
  limit?: number;
}

/**
 * Why a memory call failed.
 *
 * - `MEMORY_NOT_FOUND`: there is no such entry (deleting a key that was never written).
 * - `MEMORY_ACCESS_DENIED`: the entry's scopes or the agent's data policy do not allow it, another
 *   gene's policy would change, the gene has no v2 identity, or it runs outside an agent.
 * - `MEMORY_QUOTA_EXCEEDED`: no room, even after removing what may be removed; nothing was written.
 * - `MEMORY_INVALID_INPUT`: a key, category, scope, value, policy or filter that cannot be, or a
 *   query whose answer exceeds 4 MiB.
 * - `MEMORY_STORAGE_ERROR`: the store, the audit log or the bridge failed.
 */
export type MemoryErrorCode =
  | "MEMORY_NOT_FOUND"
  | "MEMORY_ACCESS_DENIED"
  | "MEMORY_QUOTA_EXCEEDED"
  | "MEMORY_INVALID_INPUT"
  | "MEMORY_STORAGE_ERROR";

/**
 * What every failed memory call throws.
 *
 * @example
 * ```ts
 * import { MemoryError } from "@rotifer/playground/memory";
 *
 * try {
 *   ctx.memory.deleteMemory("draft");
 * } catch (error) {
 *   if (!(error instanceof MemoryError && error.code === "MEMORY_NOT_FOUND")) throw error;
 * }
 * ```
 */
export class MemoryError extends Error {
  constructor(code: MemoryErrorCode, message: string);
  readonly name: "MemoryError";
  readonly code: MemoryErrorCode;
}

/**
 * A gene's access to the memory of the agent that it runs for.
 *
 * It is valid for one run: used after the run's result is in, every call is
 * `MEMORY_ACCESS_DENIED`.
 */
export interface GeneMemoryAccess {
  /**
   * Reads one entry.
   *
   * @param key - the entry's key
   * @param category - when given, an entry of another category does not count
   * @returns the entry, or `null` when there is none (or it has expired)
   * @throws {@link MemoryError} `MEMORY_ACCESS_DENIED` when it is there but not for this gene
   */
  readMemory(key: string, category?: MemoryCategory): MemoryEntry | null;

  /**
   * Creates an entry, or replaces the value and the category of the one with this key.
   *
   * A full memory makes room from `CACHE`, then `PATTERN`, then `CONTEXT`, least recently updated
   * first and only as much as is needed; never from `PREFERENCE`.
   *
   * @param key - 1 to 1,024 bytes of UTF-8, without NUL
   * @param value - at most 1,048,576 bytes; may be empty
   * @param category - see {@link MemoryCategory}
   * @param accessPolicy - left out: the defaults for a new entry, what is stored for an old one.
   *   Only the creator may change it; the same policy again is no change
   * @param retentionPolicy - left out: like `accessPolicy`; `null`: follow the agent's data policy
   * @returns the entry as it is stored
   * @throws {@link MemoryError} `MEMORY_ACCESS_DENIED`, `MEMORY_INVALID_INPUT` or
   *   `MEMORY_QUOTA_EXCEEDED`; nothing is written then
   */
  writeMemory(
    key: string,
    value: Uint8Array,
    category: MemoryCategory,
    accessPolicy?: MemoryAccessPolicy,
    retentionPolicy?: RetentionPolicy | null,
  ): MemoryEntry;

  /**
   * Finds the entries that this gene may read and that meet every field of the filter. Others are
   * left out silently.
   *
   * @param filter - left out: everything this gene may read
   * @returns at most `limit` entries, the most recently updated first
   * @throws {@link MemoryError} `MEMORY_INVALID_INPUT` for a filter that cannot be, and when keys
   *   and values together exceed 4 MiB: lower `limit` or narrow the filter
   */
  queryMemory(filter?: MemoryFilter): MemoryEntry[];

  /**
   * Deletes one entry.
   *
   * @param key - the entry's key
   * @throws {@link MemoryError} `MEMORY_NOT_FOUND` when there is none, `MEMORY_ACCESS_DENIED` when
   *   this gene may not change it
   */
  deleteMemory(key: string): void;
}

/** The second argument of `express`. */
export interface GeneContext {
  /** The memory of the agent that the gene runs for. */
  readonly memory: GeneMemoryAccess;
  /** Of Hybrid genes whose phenotype has a `network`; see {@link HybridGeneContext}. */
  readonly gatewayFetch?: GatewayFetch;
}

/** The second argument of `express` in a Hybrid gene whose phenotype has a `network`. */
export interface HybridGeneContext extends GeneContext {
  readonly gatewayFetch: GatewayFetch;
}

/** What a request may say; everything may be left out. */
export interface GatewayOptions {
  /** Default `POST`. `CONNECT` and `TRACE` are refused. */
  method?: string;
  /** An object, pairs, or a `Headers`. Those of the connection itself are set by the gateway. */
  headers?: Record<string, string | undefined> | Iterable<readonly [string, string]>;
  /** With the URL and the headers at most 16 MiB. */
  body?: string | Uint8Array | ArrayBuffer | null;
}

/** What a server answered. */
export interface GatewayResponse {
  /** Also 404 and 500 are answers, not errors. */
  status: number;
  /** Names in lower case; a header that came more than once is joined with `, `. */
  headers: Record<string, string>;
  /** The body as text, at most `maxResponseBytes` of it. */
  body: string;
  /** Whether the body was longer. */
  isTruncated: boolean;
}

/**
 * Asks a server on the network, within what the phenotype's `network` allows. Call it as often as
 * you like at once: requests do not wait for each other.
 *
 * @param url - `http:` or `https:`, with a host of `allowedDomains`
 * @throws {@link NetworkGatewayError} as a rejection, when there is no answer
 */
export type GatewayFetch = (
  url: string | { readonly href: string },
  options?: GatewayOptions,
) => Promise<GatewayResponse>;

/**
 * Why a request has no answer.
 *
 * - `DOMAIN_BLOCKED`: the host is not listed, also after a redirect; another scheme; or the host's
 *   address is one of this machine or a private network and is not listed itself.
 * - `RATE_LIMITED`: more than `maxRequestsPerMin` requests in 60 seconds.
 * - `TIMEOUT`: no whole answer within `maxTimeoutMs`.
 * - `NETWORK_ERROR`: no connection, a broken answer, or a request that cannot be sent.
 * - `RESPONSE_TOO_LARGE`: the server says that the body is over `maxResponseBytes`.
 */
export type NetworkGatewayErrorCode =
  | "DOMAIN_BLOCKED"
  | "RATE_LIMITED"
  | "TIMEOUT"
  | "NETWORK_ERROR"
  | "RESPONSE_TOO_LARGE";

/** What a request without an answer is rejected with. */
export class NetworkGatewayError extends Error {
  constructor(code: NetworkGatewayErrorCode, message: string);
  readonly name: "NetworkGatewayError";
  readonly code: NetworkGatewayErrorCode;
}

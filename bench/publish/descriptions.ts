/** Describes how each member of the benchmark measures, and against what. */

export interface MemberDescription {
  /** What is measured, in one or two sentences. */
  readonly method: string;
  /** The programs that the ratios compare with. */
  readonly peers: string;
  /** How random input is fixed; null where nothing is random. */
  readonly seed: string | null;
}

const bareProxy = 'L, a bare proxy of Node without keys, limits or logs';
const python = 'LiteLLM 1.108.7 and ContextForge 1.1.0 from PyPI, one worker each';

/** By the name of the member. */
export const descriptions: Readonly<Record<string, MemberDescription>> = {
  'start of the command line, built, against an empty process': {
    method:
      'Processor time of `--version` and of `validate` of one file, 9 rounds of 10 runs in turn.',
    peers: 'an empty process of Node',
    seed: null,
  },
  'deploy: image, start and memory': {
    method: 'Size of the image, time from start to readiness, and memory of its processes.',
    peers: 'absolute figures, in the units of the metric',
    seed: null,
  },
  'validate of 10,000 documents, built': {
    method:
      'Processor time of `validate` of 10,000 documents of about 1 kB with references, 5 rounds.',
    peers: 'the packages yaml and zod used in the obvious way; js-yaml alone',
    seed: 'documents are numbered, not random',
  },
  'serve: start to listening, and a page of 100,000 keys': {
    method:
      'Start of the built server on a migrated database, and a page of a list of 100,000 keys.',
    peers: 'an empty process; the two statements of the page',
    seed: null,
  },
  'lists: pages of 100,000 rows over the first of 1,000': {
    method: 'Wall clock of pages of long lists by HTTP, 31 rounds in turn.',
    peers: 'the first page of a list of 1,000 rows',
    seed: null,
  },
  'the Admin API against the bare web framework with the same statements': {
    method: 'Processor time of requests of the Admin API, in turn.',
    peers: 'Fastify with the same statements and no checks',
    seed: null,
  },
  'the gateway against another and a bare proxy': {
    method:
      'Processor time, latency and memory of chats through the gateway, with a mock provider, in turn.',
    peers: `${bareProxy}; P, the open-source gateway @portkey-ai/gateway of the development packages`,
    seed: null,
  },
  guardrails: {
    method:
      'Precision and recall of the detectors on their corpora, and processor time of the checks.',
    peers: 'the labels of test/corpora/guardrails',
    seed: 'the corpora are files',
  },
  'the MCP gateway against a bare proxy': {
    method: 'Processor time, latency and memory of MCP requests, with a mock server, in turn.',
    peers: `${bareProxy}; ${python}`,
    seed: null,
  },
  'changes of MCP servers until clients see them': {
    method: 'Seconds until clients at two gateways see a change; the slowest of 20 counts.',
    peers: 'absolute figures',
    seed: null,
  },
  'Realtime sessions': {
    method: 'Processor time of events of realtime sessions over WebSocket, in turn.',
    peers: 'a bare proxy of sockets',
    seed: null,
  },
  'hostile bodies: longest stall of the event loop': {
    method: 'Longest stall of the event loop by the costliest known bodies of the Admin API.',
    peers: 'absolute figures in milliseconds',
    seed: null,
  },
  'hostile inference: longest stall of the event loop': {
    method: 'Longest stall of the event loop by the costliest known inference requests.',
    peers: 'absolute figures in milliseconds',
    seed: null,
  },
  'unfinished bodies: memory of the gateway': {
    method: 'Memory of the gateway while many clients send bodies that they do not end.',
    peers: 'absolute figures',
    seed: null,
  },
  'large responses: longest stall of the event loop': {
    method: 'Longest stall of the event loop by the largest responses of the Admin API.',
    peers: 'absolute figures in milliseconds',
    seed: null,
  },
  'connections that send and never read': {
    method: 'Latency of another client, and memory, while 1,000 connections never read.',
    peers: 'absolute figures',
    seed: null,
  },
  'jobs: expiry, window change, counters': {
    method: 'Processor time of jobs and of their database, the cheapest of 3 rounds.',
    peers: 'the bare statements with known ids',
    seed: null,
  },
  'stateful: search, ingestion, stored responses': {
    method:
      'Search in 100,000 chunks, reading of 1 MB of documents, round trips of stored responses.',
    peers: 'a loop over the same matrix; the tokenizer alone; a chat',
    seed: 'none; the vectors are random',
  },
  'start from a snapshot of 100,000 keys': {
    method: 'Time and memory of a gateway that starts from a sealed snapshot without a database.',
    peers: 'absolute figures',
    seed: null,
  },
  'the spool against a bare proxy': {
    method: 'Processor time and latency of chats while records wait on disk.',
    peers: bareProxy,
    seed: null,
  },
  'propagation of changes to 52 gateways at 100,000 keys': {
    method: 'Seconds from a revoked key until every gateway refuses it.',
    peers: 'absolute figures',
    seed: null,
  },
  'scale: a simulation of 10,000 gateways, a million keys and 20 regions': {
    method: 'Limits, snapshots and slices of a simulated deployment.',
    peers: 'absolute figures',
    seed: '28, for the whole simulation',
  },
  'sync: a first apply': {
    method: 'Time and processor time of the first apply of a large source.',
    peers: 'a bare client that sends the same requests',
    seed: null,
  },
  'sync: no changes, other owners, a commit': {
    method: 'Time and processor time of cycles of the sync daemon.',
    peers: 'a bare client that sends the same requests',
    seed: null,
  },
  'sync: idle daemon with 2,000 files': {
    method: 'Processor time of a daemon that has nothing to do.',
    peers: 'absolute figures',
    seed: null,
  },
  'the chart, rendered, and installed on two nodes': {
    method: 'Time of rendering the chart, and of its installation on a real cluster of two nodes.',
    peers: 'absolute figures',
    seed: null,
  },
};

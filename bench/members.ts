/** Lists the members of the benchmark. */
import { member as admin } from './admin.ts';
import { member as chart } from './chart.ts';
import { member as cliStart } from './cli-start.ts';
import { member as deploy } from './deploy.ts';
import { member as gateway } from './gateway.ts';
import { member as guardrails } from './guardrails.ts';
import type { Member } from './harness.ts';
import { member as hostileBodies } from './hostile-bodies.ts';
import { member as hostileConnections } from './hostile-connections.ts';
import { member as hostileInference } from './hostile-inference.ts';
import { member as jobs } from './jobs.ts';
import { member as largeResponses } from './large-responses.ts';
import { member as lists } from './lists.ts';
import { member as mcp } from './mcp.ts';
import { member as mcpChanges } from './mcp-changes.ts';
import { member as stateful } from './objects/stateful.ts';
import { member as propagation } from './propagation.ts';
import { member as realtime } from './realtime.ts';
import { member as scaleOut } from './scale.ts';
import { member as serve } from './serve.ts';
import { member as snapshot } from './snapshot.ts';
import { member as spool } from './spool.ts';
import { member as sync } from './sync.ts';
import { member as syncFirst } from './sync-first.ts';
import { member as syncIdle } from './sync-idle.ts';
import { member as unfinishedBodies } from './unfinished-bodies.ts';
import { member as validateMany } from './validate-10k.ts';

const hostile = [
  hostileBodies,
  hostileInference,
  unfinishedBodies,
  largeResponses,
  hostileConnections,
];
/** All members, in the order in which they run. */
export const members: readonly Member[] = [
  cliStart,
  deploy,
  validateMany,
  serve,
  lists,
  admin,
  gateway,
  guardrails,
  mcp,
  mcpChanges,
  realtime,
  ...hostile,
  jobs,
  stateful,
  snapshot,
  spool,
  propagation,
  scaleOut,
  syncFirst,
  sync,
  syncIdle,
  chart,
];

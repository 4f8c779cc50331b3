/** Lists what callers may see of a fault, each with the document that promises no more. */
import { operations, type Permit } from './fault.ts';

const down = operations('When something is down');
const everything = [
  'chat',
  'limited chat',
  'new keys',
  'tools',
  'objects',
  'admin',
  'console',
] as const;

/** A process that is gone or stopped answers nothing itself. */
export const unansweredAtTarget: Permit = {
  surfaces: everything,
  statuses: [0],
  isAtTarget: true,
  document: operations('Several replicas'),
};

/** Behind the load balancer, requests that the control plane had received get no answer. */
export const unansweredAdministration: Permit = {
  surfaces: ['admin', 'console'],
  statuses: [0],
  isAtTarget: false,
  document: operations('Several replicas'),
};

/** The Admin API needs the database; the load balancer takes control planes that are not ready out. */
const unavailableAdministration: Permit = {
  surfaces: ['admin', 'console', 'jobs'],
  statuses: [0, 503],
  isAtTarget: false,
  document: down,
};

/** A budget whose held units are used up is refused with 503 within two seconds. */
const unavailableBudgets: Permit = {
  surfaces: ['limited chat'],
  statuses: [503],
  isAtTarget: false,
  document: down,
};

/** A process that stops or is cut off in a transaction keeps its locks until the server ends it. */
export const lockedBudgets: Permit = {
  surfaces: ['limited chat'],
  statuses: [503],
  isAtTarget: false,
  document: down,
};

/** A key that no snapshot has gets 503 while the database is away, never 401. */
const unavailableNewKeys: Permit = {
  surfaces: ['new keys'],
  statuses: [503],
  isAtTarget: false,
  document: down,
};

/** Stored objects are rows of the database. */
const unavailableObjects: Permit = {
  surfaces: ['objects'],
  statuses: [500, 502, 503],
  isAtTarget: false,
  document: 'docs/reference/stored-objects.md, Objects that callers keep',
};

/** The provider fails, or cannot be reached: its callers see it. */
export const failingProvider: Permit = {
  surfaces: ['chat', 'limited chat', 'objects', 'new keys'],
  statuses: [0, 200, 429, 500, 502, 503, 504],
  isAtTarget: false,
  document: 'docs/reference/inference.md, Errors',
};

/** The MCP server cannot be reached. */
export const failingToolServer: Permit = {
  surfaces: ['tools'],
  statuses: [0, 502, 503, 504],
  isAtTarget: false,
  document: 'docs/reference/mcp.md, Errors',
};

/** A gateway that reaches nothing, and is reached by nobody: what it answers is as for each part that is away. */
export const separatedGateway: Permit = {
  surfaces: everything,
  statuses: [0, 408, 502, 503, 504],
  isAtTarget: true,
  document: down,
};

/** A reservation that the disk does not take is refused; callers try again. */
export const unrecordedBudgets: Permit = {
  surfaces: ['limited chat'],
  statuses: [503],
  isAtTarget: true,
  document: down,
};

/** Without descriptors a gateway opens no connection, neither for callers nor to what it needs. */
export const exhaustedDescriptors: Permit = {
  surfaces: everything,
  statuses: [0, 502, 503],
  isAtTarget: true,
  document: down,
};

export const databaseAway: readonly Permit[] = [
  unavailableAdministration,
  unavailableBudgets,
  unavailableNewKeys,
  unavailableObjects,
];

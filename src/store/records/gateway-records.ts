/** Defines what gateways store beside usage and logs, which a database or a control plane keeps. */
import type { UsageWindow } from '../../model/limits/periods.ts';
import type { Definition } from '../../model/mcp/definition.ts';
import type { McpAnsweredStateRow } from '../mcp/mcp-answered-states.ts';
import type { DefinitionPlace } from '../mcp/mcp-definitions.ts';

/** A note that an MCP session leaves for other replicas, with its sealed value. */
export interface SessionNote {
  readonly sessionId: string;
  readonly name: string;
  readonly value: string;
}

export interface NoteStore {
  /** Adds or replaces a note; false when the key has too many. */
  putNote(
    organisationId: string,
    keyId: string,
    note: SessionNote,
    expiresAt: number,
  ): Promise<boolean>;
  listNotes(organisationId: string, sessionIds: readonly string[]): Promise<readonly SessionNote[]>;
  /** Without names: all notes of the session. */
  removeNotes(organisationId: string, sessionId: string, names?: readonly string[]): Promise<void>;
}

/** An API key in its organisation. */
interface KeyOfOrganisation {
  readonly organisationId: string;
  readonly keyId: string;
}

/** A token that has budgets, by the id of its counters. */
interface TokenOfOrganisation {
  readonly organisationId: string;
  readonly id: string;
}

/** Definitions of an MCP integration that callers were shown. */
export interface SeenDefinitions {
  readonly place: DefinitionPlace;
  readonly definitions: readonly Definition[];
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A row of the audit log that counts events. A repetition writes the same row. */
export interface CountedRow {
  readonly id: string;
  /** Empty for events without an organisation. */
  readonly organisationId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly changes: Record<string, unknown>;
}

/** The events that a row counts. */
export interface CountedAction {
  readonly action: string;
  readonly resourceKind: string;
  readonly actorId: string;
}

/** Methods reject, like an unavailable database, when nothing is known to be stored. */
export interface GatewayRecords extends NoteStore {
  /** Records a use at `now`; of concurrent calls only one writes. */
  storeKeyUse(key: KeyOfOrganisation, now: number): Promise<void>;
  /** Stores when the budget windows of a token end, so that a job deletes their counters. */
  storeTokenWindows(
    token: TokenOfOrganisation,
    windows: readonly UsageWindow[],
    now: number,
  ): Promise<void>;
  /** Returns whether this is the first retry that answers the state of an MCP call. */
  storeAnsweredState(row: McpAnsweredStateRow, now: number): Promise<boolean>;
  /** The retry was not sent, so that another one may answer the state. */
  removeAnsweredState(organisationId: string, id: string): Promise<void>;
  storeSeenDefinitions(seen: SeenDefinitions): Promise<void>;
  /** The organisation of a tenant; undefined when there is none. */
  findOrganisationOfTsg(tsgId: string): Promise<string | undefined>;
  storeCountedRow(row: CountedRow, what: CountedAction): Promise<void>;
}

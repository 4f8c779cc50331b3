/** Records which states of calls have been answered, so that the rounds of a call count as one call and a repeated retry as another. */
import type { Database } from '../../store/connection/db.ts';
import * as mcpAnsweredStates from '../../store/mcp/mcp-answered-states.ts';
import type { CallState } from './call-states.ts';

export interface AnsweredStatesOptions {
  readonly database: Pick<Database, 'db'>;
  readonly isUnavailable: (error: unknown) => boolean;
}

export class AnsweredStates {
  readonly #options: AnsweredStatesOptions;

  constructor(options: AnsweredStatesOptions) {
    this.#options = options;
  }

  /** Returns whether this is the first answer. False while the database is unreachable, so that the retry counts. */
  async answer(
    organisationId: string,
    { id, expiresAt }: CallState,
    now: number,
  ): Promise<boolean> {
    const { database, isUnavailable } = this.#options;
    const row = { organisation_id: organisationId, id, expires_at: expiresAt };
    try {
      return await mcpAnsweredStates.insertOnce(database.db, row, now);
    } catch (error) {
      if (isUnavailable(error)) return false;
      throw error;
    }
  }

  /** The answer was not sent. */
  async withdraw(organisationId: string, { id }: CallState): Promise<void> {
    await mcpAnsweredStates.remove(this.#options.database.db, organisationId, id);
  }
}

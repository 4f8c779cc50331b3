/** Records which states of calls have been answered, so that the rounds of a call count as one call and a repeated retry as another. */
import type { GatewayRecords } from '../../store/records/gateway-records.ts';
import type { CallState } from './call-states.ts';

export interface AnsweredStatesOptions {
  readonly records: Pick<GatewayRecords, 'storeAnsweredState' | 'removeAnsweredState'>;
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
    const { records, isUnavailable } = this.#options;
    const row = { organisation_id: organisationId, id, expires_at: expiresAt };
    try {
      return await records.storeAnsweredState(row, now);
    } catch (error) {
      if (isUnavailable(error)) return false;
      throw error;
    }
  }

  /** The answer was not sent. */
  async withdraw(organisationId: string, { id }: CallState): Promise<void> {
    await this.#options.records.removeAnsweredState(organisationId, id);
  }
}

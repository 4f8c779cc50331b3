/** Gives log rows to the control plane, for a gateway without a database. */
import type { LogContents, LogSink } from '../gateway/logs/log-sink.ts';
import { encodeLosses, encodeRow } from '../gateway/logs/spooled-rows.ts';
import { DatabaseUnavailable, OutcomeUnknown } from '../store/connection/unavailable.ts';
import type { ControlLink } from './control-link.ts';
import { linkPaths } from './link-paths.ts';

export class LinkedLogSink implements LogSink {
  readonly #link: Pick<ControlLink, 'post'>;

  constructor(link: Pick<ControlLink, 'post'>) {
    this.#link = link;
  }

  async write({ rows, lost }: LogContents, isRepeated: boolean): Promise<void> {
    const records = [...rows.map(encodeRow), ...(lost.length === 0 ? [] : [encodeLosses(lost)])];
    const message = {
      is_repeated: isRepeated,
      records: records.map((record) => JSON.parse(record.toString())),
    };
    try {
      await this.#link.post(linkPaths.logRows, message);
    } catch (error) {
      // Sending the rows again is harmless, because their ids are their keys.
      if (!(error instanceof OutcomeUnknown)) throw error;
      throw new DatabaseUnavailable('The control plane did not confirm log rows', { cause: error });
    }
  }
}

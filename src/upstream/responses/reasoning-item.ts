/** Emits the events of a reasoning item while its text arrives in pieces. */
import { joinDetails, type ReasoningDetail } from '../translation/reasoning.ts';
import type { ResponseContext } from '../translation/translation.ts';
import { reasoningItem, summaryPart } from './chat-response-to-responses.ts';
import type { EmitEvent, EndedItem } from './open-item.ts';

export class ReasoningItem {
  /** Index in the output. */
  readonly at: number;
  readonly #about: ResponseContext;
  readonly #emit: EmitEvent;
  readonly #details: ReasoningDetail[] = [];
  #text = '';

  constructor(about: ResponseContext, at: number, emit: EmitEvent) {
    this.at = at;
    this.#about = about;
    this.#emit = emit;
  }

  begin(): string {
    const item = reasoningItem(this.#about, this.at, { text: '', details: [] }, 'in_progress');
    return this.#emit('response.output_item.added', { output_index: this.at, item });
  }

  add(text: string, details: readonly ReasoningDetail[]): string {
    this.#details.push(...details);
    if (text === '') return '';
    const place = this.#place();
    const startEvents =
      this.#text === ''
        ? this.#emit('response.reasoning_summary_part.added', { ...place, part: summaryPart('') })
        : '';
    this.#text += text;
    return (
      startEvents + this.#emit('response.reasoning_summary_text.delta', { ...place, delta: text })
    );
  }

  end(): EndedItem {
    const text = this.#text;
    const item = reasoningItem(this.#about, this.at, { text, details: joinDetails(this.#details) });
    const place = this.#place();
    const summary =
      text === ''
        ? ''
        : this.#emit('response.reasoning_summary_text.done', { ...place, text }) +
          this.#emit('response.reasoning_summary_part.done', { ...place, part: summaryPart(text) });
    const done = this.#emit('response.output_item.done', { output_index: this.at, item });
    return { events: summary + done, item };
  }

  #place() {
    const { id } = reasoningItem(this.#about, this.at, { text: '', details: [] });
    return { item_id: id, output_index: this.at, summary_index: 0 };
  }
}

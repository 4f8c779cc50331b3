/** Emits the events of a message item while its text or refusal arrives in pieces. */
import type { Json } from '../documents/document-node.ts';
import type { ResponseContext } from '../translation/translation.ts';
import { messageItem, refusalPart, textPart } from './chat-response-to-responses.ts';
import type { EmitEvent, EndedItem } from './open-item.ts';

export class TextItem {
  readonly kind: 'text' | 'refusal';
  /** Index in the output. */
  readonly at: number;
  readonly #about: ResponseContext;
  readonly #emit: EmitEvent;
  readonly #annotations: Json[] = [];
  readonly #place: Json;
  #text = '';

  constructor(kind: 'text' | 'refusal', about: ResponseContext, at: number, emit: EmitEvent) {
    this.kind = kind;
    this.at = at;
    this.#about = about;
    this.#emit = emit;
    const { id } = messageItem(about, at, []);
    this.#place = { item_id: id, output_index: at, content_index: 0 };
  }

  begin(): string {
    const item = messageItem(this.#about, this.at, [], 'in_progress');
    return (
      this.#emit('response.output_item.added', { output_index: this.at, item }) +
      this.#emit('response.content_part.added', { ...this.#place, part: this.#part() })
    );
  }

  add(text: string): string {
    this.#text += text;
    const more = this.kind === 'text' ? { delta: text, logprobs: [] } : { delta: text };
    return this.#emit(`response.${this.#eventName}.delta`, { ...this.#place, ...more });
  }

  annotate(annotation: Json): string {
    const annotation_index = this.#annotations.push(annotation) - 1;
    const added = { ...this.#place, annotation_index, annotation };
    return this.#emit('response.output_text.annotation.added', added);
  }

  end(): EndedItem {
    const part = this.#part();
    const item = messageItem(this.#about, this.at, [part]);
    const text = this.#text;
    const content = this.kind === 'text' ? { text, logprobs: [] } : { refusal: text };
    const events =
      this.#emit(`response.${this.#eventName}.done`, { ...this.#place, ...content }) +
      this.#emit('response.content_part.done', { ...this.#place, part }) +
      this.#emit('response.output_item.done', { output_index: this.at, item });
    return { events, item };
  }

  get #eventName(): string {
    return this.kind === 'text' ? 'output_text' : 'refusal';
  }

  #part(): Json {
    return this.kind === 'text' ? textPart(this.#text, this.#annotations) : refusalPart(this.#text);
  }
}

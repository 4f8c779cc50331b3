/** Follows the turns that a provider detects, and asks for a response at the end of each where the gateway creates them. */
import { detach } from '../../../detached.ts';
import type { OpenAiState } from './openai-state.ts';

export class DetectedTurns {
  readonly #state: OpenAiState;
  readonly #createResponse: () => Promise<void>;
  /** The provider has detected the end of a turn whose sound it is about to commit. */
  #isOver = false;
  /** A turn ended while a response was running. */
  #isAnswerDue = false;

  constructor(state: OpenAiState, createResponse: () => Promise<void>) {
    this.#state = state;
    this.#createResponse = createResponse;
  }

  /** Takes an event of the provider. */
  follow(type: string): void {
    switch (type) {
      case 'input_audio_buffer.speech_stopped':
      case 'input_audio_buffer.timeout_triggered':
        this.#isOver = true;
        return;
      case 'input_audio_buffer.committed':
        // A caller may also commit its sound itself, without wanting a response.
        if (this.#isOver) this.#answer();
        this.#isOver = false;
    }
  }

  /** A response has ended, so that one that was due meanwhile can be created. */
  responseEnded(): void {
    if (!this.#isAnswerDue || this.#state.responses.isConversationBusy) return;
    this.#isAnswerDue = false;
    this.#create();
  }

  #answer(): void {
    const { answersTurns, limits, responses } = this.#state;
    if (!answersTurns || !limits.isGoverned) return;
    if (responses.isConversationBusy) this.#isAnswerDue = true;
    else this.#create();
  }

  #create(): void {
    detach('a response in a realtime session', this.#createResponse());
  }
}

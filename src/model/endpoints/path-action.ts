/** Defines what the path of a request says in formats whose clients send model and action in the path. */

/**
 * The form of a request and its response: Gemini's, or those of Amazon Bedrock and Vertex AI, whose bodies are
 * messages of Anthropic (`invoke`, `raw-predict`), Converse, or texts to embed (`invoke`, `predict`).
 */
type ActionForm =
  | 'gemini'
  | 'predict'
  | 'invoke'
  | 'converse'
  | 'count-tokens'
  | 'count-converse'
  | 'raw-predict'
  | 'count-raw-predict';

/** The parts of a path that become members of the body, as requests of other formats have them. */
export interface PathAction {
  readonly form: ActionForm;
  /** Null where the body names the model. */
  readonly model: string | null;
  readonly isStream: boolean;
  /** Whether the caller wants the events of a stream as one JSON list. */
  readonly isList: boolean;
}

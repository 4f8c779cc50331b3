/** Names the kinds of objects that providers or the gateway store for callers. */

/** By the first segment of their paths; `items`, `audio` and `messages` occur only below others. */
export type ObjectKind =
  | 'items'
  | 'containers'
  | 'responses'
  | 'conversations'
  | 'vector_stores'
  | 'files'
  | 'uploads'
  | 'batches'
  | 'assistants'
  | 'threads'
  | 'chat_completions'
  | 'async_chats'
  | 'message_batches'
  | 'fine_tuning_jobs'
  | 'models'
  | 'evals'
  | 'skills'
  | 'videos'
  | 'video_characters'
  | 'audio'
  | 'cached_contents'
  | 'interactions'
  | 'messages';

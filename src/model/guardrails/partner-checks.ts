/** Lists the checks that partner services run with their own models. They are stored, but this gateway cannot run them. */

/** By id, in the spelling of clients. */
export const partnerChecks: readonly string[] = [
  'acuvity.scan',
  'aporia.validateProject',
  'azure.contentSafety',
  'azure.pii',
  'lasso.classify',
  'mistral.moderateContent',
  'patronus.custom',
  'patronus.isConcise',
  'patronus.isHelpful',
  'patronus.isPolite',
  'patronus.noApologies',
  'patronus.noGenderBias',
  'patronus.noRacialBias',
  'patronus.phi',
  'patronus.pii',
  'patronus.retrievalAnswerRelevance',
  'patronus.toxicity',
  'pillar.scanPrompt',
  'pillar.scanResponse',
  'promptfoo.guard',
  'promptfoo.harm',
  'promptfoo.pii',
  'sydelabs.sydeguard',
];

/** Finds texts that try to take over the instructions of a model. */
import type { Slices } from '../../../slices.ts';
import { decodedTexts, hasInvisibleText, tagText, unmaskedText } from './hidden-text.ts';
import { findOverride } from './override-phrases.ts';

/** A trait of attacks. Most of them also occur in harmless texts, so one of them proves nothing. */
export type InjectionSignal =
  | 'override'
  | 'weak_override'
  | 'disclosure'
  | 'persona'
  | 'forged_role'
  | 'exfiltration'
  | 'concealment'
  | 'invisible'
  | 'encoded'
  | 'tags';

const disclosure =
  /\b(?:reveal|print|show|repeat|output|display|tell me|give me|expose|leak|dump|return|echo|disclose|write out|zeige?|verrate|wiederhole|affiche|muestra|revela|mostra) (?:[a-z']{1,15} ){0,4}(?:(?:system|hidden|initial|original|secret|internal|developer) (?:prompt|instructions?|message|rules|directives)|systemprompt|prompt (?:du )?syst|prompt del sistema|(?:instructions|text|everything|words) (?:above|you were given|before this))/i;
const disclosureElsewhere =
  /(?:révèle|покажи|раскрой|повтори) (?:\p{L}{1,15} ){0,4}(?:prompt|промпт|системн|инструкци)|(?:显示|输出|重复|告诉我|透露)(?:你|您)?(?:的)?(?:系统|初始|隐藏)(?:提示|指令)|システムプロンプトを(?:表示|教え|出力)/iu;
const persona =
  /\b(?:you are|you.re|act as|pretend (?:to be|you are|that you)|become|enter|enable|activate|switch to|simulate|roleplay as) (?:[a-z']{1,15} ){0,5}(?:dan|do anything now|developer mode|debug mode|god mode|jailbr(?:oken|eak)(?: mode)?|unrestricted|unfiltered|uncensored|evil|amoral|(?:free (?:of|from)|without|no|not bound by|has no|have no) (?:[a-z']{1,12} ){0,2}(?:restrictions?|filters?|rules|limits|limitations|guidelines|ethics|censorship))\b/i;
/** Marks by which chat templates begin a message of another role. */
const forgedRole =
  /<\|(?:im_start|im_end|system|start_header_id|eot_id|endoftext)\|>|<<\/?SYS>>|\[\/?INST\]|<\/(?:system|instructions|user_input|untrusted|document)>|(?:^|\n)\s{0,4}(?:#{2,4} {0,2}|\[|\*\*)?(?:system|new instructions?|admin|developer)(?: (?:prompt|message|override|update|note))?(?:\]|\*\*)?:(?=\s)|\[(?:system|admin)\]/i;
const exfiltration =
  /\b(?:send|post|forward|upload|exfiltrate|transmit|e-?mail|leak|append|embed|submit|curl|fetch)\b (?:[a-z'/,]{1,15} ){0,8}(?:conversation|chat history|messages?|api[ _-]?keys?|credentials|passwords?|secrets|tokens?|environment variables|env(?:ironment)?|contacts|inbox|system prompt|private (?:data|files|keys?)|ssh keys?|cookies?)(?:[^.!?\n]{0,60}?)(?:https?:\/\/|[\w.+-]{1,40}@[\w-]{1,40}\.|webhook|attacker|this (?:url|address|server)|my (?:server|e-?mail|address|site))/i;
const concealment =
  /\b(?:do not|don.t|never|without) (?:[a-z']{1,12} ){0,2}?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|notify(?:ing)?|reveal(?:ing)?|alert(?:ing)?|say(?:ing)?|disclos(?:e|ing)|ask(?:ing)?)\b (?:[a-z']{1,12} ){0,4}?(?:the user|users|anyone|to the user|the human|them|him|her|this to)\b/i;
/** Words of texts about attacks. A phrase in quotation marks behind one of them is an example. */
const aboutAttacks =
  /injection|jailbreak|attack|phrase|example|such as|e\.g\.|for instance|detect|malicious|test case|pattern|payload|keyword|string|regex|sentence|contains?|says?|like|Angriff|Beispiel|ejemplo|exemple/i;
const quotes = '"\'`“”„«»‘’';

/** Characters of a piece, and of the next one that are judged with it. */
const pieceCharacters = 12 * 1024;
const overlap = 600;

/** Returns the signals of a text, if together they make an attack likely; else an empty list. */
export function* findInjection(text: string): Slices<readonly InjectionSignal[]> {
  const signals = new Set<InjectionSignal>();
  for (let at = 0; at === 0 || at < text.length; at += pieceCharacters) {
    if (at > 0) yield;
    const piece = text.slice(at, at + pieceCharacters + overlap);
    for (const signal of signalsIn(piece)) signals.add(signal);
  }
  return isAttack(signals) ? [...signals].toSorted() : [];
}

/**
 * Signals that are no attack alone: each of them is at home in prompts of agents, in documents about security
 * or in right-to-left texts.
 */
function isAttack(signals: ReadonlySet<InjectionSignal>): boolean {
  if (signals.has('override') || signals.has('tags') || signals.has('encoded')) return true;
  const others = [...signals].filter(
    (signal) => signal !== 'concealment' && signal !== 'forged_role',
  );
  return others.length >= 2 || (others.length === 1 && signals.size >= 2);
}

/** Signals that nobody has reason to encode. */
const hiddenAttacks: ReadonlySet<InjectionSignal> = new Set([
  'override',
  'disclosure',
  'persona',
  'exfiltration',
]);

function signalsIn(piece: string): InjectionSignal[] {
  const signals = plainSignals(piece);
  if (hasInvisibleText(piece)) signals.push('invisible');
  const tags = tagText(piece);
  if (tags !== '' && /\p{L}{3}/u.test(tags)) signals.push('tags');
  const isHidden = decodedTexts(piece).some((decoded) =>
    plainSignals(decoded).some((signal) => hiddenAttacks.has(signal)),
  );
  if (isHidden) signals.push('encoded');
  return signals;
}

function plainSignals(piece: string): InjectionSignal[] {
  const text = unmaskedText(piece);
  const signals: InjectionSignal[] = [];
  const { strong, isWeak } = findOverride(text);
  if (strong !== null && !isQuoted(piece, text, strong)) signals.push('override');
  else if (strong !== null || isWeak) signals.push('weak_override');
  const isAscii = !/[^\0-\x7f]/.test(text);
  if (disclosure.test(text) || (!isAscii && disclosureElsewhere.test(text))) {
    signals.push('disclosure');
  }
  if (persona.test(text)) signals.push('persona');
  if (forgedRole.test(piece)) signals.push('forged_role');
  if (exfiltration.test(text)) signals.push('exfiltration');
  if (concealment.test(text)) signals.push('concealment');
  return signals;
}

/** Characters before a quotation in which a word says that it is an example. */
const introductionCharacters = 160;

/** Whether every quotation of the phrase is an example in a text about attacks. */
function isQuoted(
  piece: string,
  text: string,
  { start, end }: { start: number; end: number },
): boolean {
  const phrase = text.slice(start, end);
  const first = phrase.slice(0, 12).toLowerCase();
  const lower = piece.toLowerCase();
  let count = 0;
  for (let at = lower.indexOf(first); at !== -1; at = lower.indexOf(first, at + 1)) {
    count += 1;
    const before = piece.slice(Math.max(0, at - 4), at);
    const after = piece.slice(at, at + phrase.length + 60);
    const isInQuotes = hasQuote(before) && hasQuote(after);
    const introduction = piece.slice(Math.max(0, at - introductionCharacters), at);
    if (!isInQuotes || !aboutAttacks.test(introduction)) return false;
  }
  return count > 0;
}

function hasQuote(text: string): boolean {
  return [...text].some((character) => quotes.includes(character));
}

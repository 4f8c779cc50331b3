/** Lists the phrases by which texts try to replace the instructions of a model. */

/** A verb, then within a few words the instructions that it should replace. `scope` names them as given before. */
interface OverridePhrase {
  readonly strong: RegExp;
  /** The same without a scope: it counts only with another signal. */
  readonly weak: RegExp;
}

const words = String.raw`(?:[\p{L}'’]{1,20}[ ,]{1,3}){0,5}?`;

function phrase(
  verbs: string,
  scope: string,
  targets: string,
  isScopeLast = false,
): OverridePhrase {
  const verb = String.raw`(?<!\p{L})(?:${verbs})(?!\p{L})[ ,:"']{1,4}`;
  const target = String.raw`(?:${targets})(?!\p{L})`;
  const named = isScopeLast
    ? String.raw`${words}${target}[ ,]{1,3}${words}(?:${scope})(?!\p{L})`
    : String.raw`${words}(?:${scope})(?!\p{L})[ ,]{1,3}${words}${target}`;
  return {
    strong: new RegExp(verb + named, 'iu'),
    weak: new RegExp(verb + words + target, 'iu'),
  };
}

const englishTargets =
  'instructions?|directives?|prompts?|rules|guidelines|guardrails|commands|directions|programming|restrictions|policies|constraints';
const englishVerbs =
  'ignore|disregard|forget|override|bypass|discard|neglect|skip|drop|cancel|do not follow|don.t follow|stop following|pay no attention to';
const englishScope =
  'previous|prior|above|earlier|preceding|former|foregoing|past|existing|initial|original|system|all (?:of )?(?:your|the|these|those)|everything|any (?:of )?your';

/** English, German, French, Spanish, Italian, Portuguese, Dutch, Polish: words of plain Latin letters suffice. */
const latinPhrases: readonly OverridePhrase[] = [
  phrase(englishVerbs, englishScope, englishTargets),
  phrase(
    englishVerbs,
    'above|before|previously|earlier|so far|until now|you were given|you have been given|you received|up to (?:this point|now)',
    `${englishTargets}|everything|anything|what`,
    true,
  ),
  phrase(
    'ignoriere?|ignorieren sie|vergiss|vergessen sie|missachte|missachten sie|überschreibe',
    'vorherigen?|bisherigen?|vorigen|obigen|früheren|alle[ns]?|vorangegangenen|ursprünglichen',
    'anweisungen?|instruktionen|regeln|vorgaben|befehle|richtlinien|prompts?',
  ),
  phrase(
    'ignore[zr]?|oublie[zr]?|ne tiens pas compte|ne tenez pas compte|fais abstraction|négligez?',
    'précédente?s|antérieure?s|ci-dessus|initiales|données plus tôt|reçues',
    'instructions|consignes|directives|règles|ordres',
    true,
  ),
  phrase(
    'ignora|ignore|ignorá|olvida|olvide|olvidá|omite|descarta|haz caso omiso de',
    'anteriores|previas|previos|de arriba|iniciales|originales',
    'instrucciones|indicaciones|órdenes|reglas|directrices',
    true,
  ),
  phrase(
    'ignora|ignorate|dimentica|dimenticate|trascura|non seguire',
    'precedenti|anteriori|di sopra|iniziali|originali|ricevute',
    'istruzioni|indicazioni|regole|direttive|ordini',
    true,
  ),
  phrase(
    'ignore|ignora|esqueça|esquece|desconsidere|desconsidera|descarte',
    'anteriores|prévias|acima|iniciais|originais',
    'instruções|orientações|regras|ordens|diretrizes',
    true,
  ),
  phrase(
    'negeer|vergeet|sla over',
    'vorige|voorgaande|eerdere|bovenstaande|alle|oorspronkelijke',
    'instructies|aanwijzingen|regels|opdrachten|richtlijnen',
  ),
  phrase(
    'zignoruj|ignoruj|zapomnij(?: o)?|pomiń',
    'poprzednie|poprzednich|wcześniejsze|wcześniejszych|powyższe|powyższych|wszystkie|wszystkich',
    'instrukcje|instrukcji|polecenia|poleceń|zasady|zasad|wytyczne|wytycznych',
  ),
];

/** Russian, no word of which has plain Latin letters. */
const otherPhrases: readonly OverridePhrase[] = [
  phrase(
    'игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|не обращай внимания на|отбрось',
    'предыдущие|предыдущих|прежние|вышеуказанные|все|всех|прошлые',
    'инструкции|указания|правила|команды|инструкций|указаний|правил',
  ),
];

/**
 * Languages whose words follow one another without blanks, or whose verb comes last. Each phrase contains other letters
 * than plain Latin ones.
 */
const furtherPhrases: readonly RegExp[] = [
  /(?:忽略|无视|忘记|忘掉|無視|忘記|不要遵守)(?:你|您)?(?:掉)?(?:之前|以前|以上|上面|前面|先前|所有|一切|全部|此前|上述)(?:的|所有|全部|任何|收到|给出|之前|以上){0,4}(?:指令|指示|提示|规则|規則|命令|要求|说明)/u,
  /(?:これまで|以前|上記|前|先|今まで|すべて|全て)(?:の|に与えられた|まで){0,2}(?:すべての|全ての|あらゆる)?(?:指示|命令|プロンプト|ルール|指令)(?:を|は)(?:すべて|全て)?(?:無視|忘れ|破棄)/u,
  /(?:이전|위|앞|기존|지금까지)(?:의|에 받은)? ?(?:모든 )?(?:지시|명령|지침|프롬프트|규칙)[^.!?\n]{0,10}(?:무시|잊)/u,
  /(?:تجاهل|انس|تجاهلي|انسَ)\s(?:\p{L}{1,12}\s){0,2}(?:التعليمات|الأوامر|القواعد|التوجيهات)\s(?:\p{L}{1,12}\s)?(?:السابقة|أعلاه|الأصلية)/u,
  /(?:पिछले|पहले के|ऊपर के)\s(?:दिए गए\s)?(?:सभी\s)?(?:निर्देशों|आदेशों|नियमों)\s(?:को|पर)?\s?(?:पूरी तरह\s)?(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|ध्यान न)/u,
  /(?:önceki|yukarıdaki|tüm|bütün)\s(?:\p{L}{1,12}\s){0,2}(?:talimatları|komutları|kuralları|yönergeleri)\s(?:\p{L}{1,12}\s)?(?:yok ?say|görmezden gel|unut|dikkate alma)/iu,
];

/** Parts of words of which each phrase contains one. Only their surroundings are searched for phrases. */
const openings =
  /ignor|disregard|forget|overrid|bypass|discard|neglect|\bskip\b|\bdrop\b|\bcancel\b|(?:not|.t|stop) follow|pay no att|vergi?s|vergess|missacht|überschreib|oubli|ne tiens|ne tenez|abstraction|néglig|olvid|omit|descart|omiso|dimentic|trascur|seguire|esque|desconsider|negeer|vergeet|sla over|zapomnij|pomiń|игнорир|забудь|внимания|отбрось|忽略|无视|忘|無視|不要遵守|破棄|무시|잊|تجاهل|انس|निर्देश|आदेश|नियम|talimat|komut|kural|yönerge/gi;

/** Characters before and after an opening in which a phrase lies. */
const before = 80;
const after = 200;

/** The surroundings of the openings. */
function* windowsOf(text: string): Generator<{ from: number; window: string }> {
  let from = 0;
  let to = 0;
  for (const { index } of text.matchAll(openings)) {
    if (to > 0 && index - before > to) {
      yield { from, window: text.slice(from, to) };
      to = 0;
    }
    if (to === 0) from = Math.max(0, index - before);
    to = index + after;
  }
  if (to > 0) yield { from, window: text.slice(from, to) };
}

export interface OverrideSearch {
  /** The place of the first phrase that names the instructions given before; null without one. */
  readonly strong: { readonly start: number; readonly end: number } | null;
  /** Whether a verb and instructions stand close to each other; not judged behind a strong phrase. */
  readonly isWeak: boolean;
}

export function findOverride(text: string): OverrideSearch {
  let isWeak = false;
  for (const { from, window } of windowsOf(text)) {
    const { strong, weak } = /[^\0-\x7f]/.test(window) ? anyPatterns : latinPatterns;
    for (const pattern of strong) {
      const match = pattern.exec(window);
      if (match === null) continue;
      const start = from + match.index;
      return { strong: { start, end: start + match[0].length }, isWeak };
    }
    isWeak ||= weak.some((pattern) => pattern.test(window));
  }
  return { strong: null, isWeak };
}

interface Patterns {
  readonly strong: readonly RegExp[];
  readonly weak: readonly RegExp[];
}

const latinPatterns: Patterns = {
  strong: latinPhrases.map(({ strong }) => strong),
  weak: latinPhrases.map(({ weak }) => weak),
};
const anyPatterns: Patterns = {
  strong: [...latinPatterns.strong, ...otherPhrases.map(({ strong }) => strong), ...furtherPhrases],
  weak: [...latinPatterns.weak, ...otherPhrases.map(({ weak }) => weak)],
};

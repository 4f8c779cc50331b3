/** Contains sentences with profanity, and sentences with words that only look like it. */
import type { CorpusPart, LabelledText } from './labelled-text.ts';

/** Sentences around each word. */
const sentences: Readonly<Record<CorpusPart, readonly string[]>> = {
  tuned: ['You are a #', 'what the #, man', '#'],
  heldBack: ['This is # unbelievable.', '😀 "#", he said', '{"comment": "#"}'],
};
const profane: Readonly<Record<CorpusPart, readonly string[]>> = {
  tuned: ['fuck', 'asshole', 'sh1t', 'b!tch', 'fuuuck', 'ⓕⓤⓒⓚ', 'f u c k', 'bullshit', 'dickhead'],
  heldBack: [
    'motherfucker',
    'shitty',
    'FUCKING',
    'wh0re',
    'f.u.c.k',
    'fu\u200bck',
    'slut',
    'wanker',
    'c*nt',
  ],
};
const plain: Readonly<Record<CorpusPart, readonly string[]>> = {
  tuned: [
    'The assassin passed the class in Scunthorpe.',
    'Analysts in the cockpit had a cocktail.',
    'Traffickers of shiitake were feckless.',
    'hash a55f4g, id sh1a9x, path /assets/fukuoka.png, snippet c_unit',
    'const ass = (until) => $(cat /analytics/title)',
  ],
  heldBack: [
    'Dick Cheney and Richard Hancock grew peacocks in Essex.',
    'The cat shed hair on the shuttlecock; the titanic titles assume a grass pass.',
    'Niggardly budgets, pricked fingers, a pussycat and great tits in the garden.',
    'Sussex University assessed the Penistone line and the Horniman museum.',
  ],
};

/** Every word in every sentence, and the plain sentences. */
export function profanityTexts(part: CorpusPart): LabelledText[] {
  const found = profane[part].flatMap((value) =>
    sentences[part].map((sentence) => ({
      text: sentence.replace('#', () => value),
      values: [{ label: 'PROFANITY', value }],
    })),
  );
  return [...found, ...plain[part].map((text) => ({ text, values: [] }))];
}

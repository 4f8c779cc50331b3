/** Lists rules for secrets that the rules of gitleaks do not recognise. */
import type { RuleData } from './secret-rule.ts';

const end = '(?![\\w-])';

/** Patterns are those of JavaScript; the first group contains the secret. */
export const furtherRules: readonly RuleData[] = [
  {
    id: 'url-password',
    regex: '\\b[a-zA-Z][a-zA-Z\\d+.-]{1,20}://[^\\s:@/\'"`]{0,64}:([^\\s:@/\'"`]{3,128})@[\\w.-]',
    entropy: 1.5,
    keywords: ['://'],
    allowlists: [
      { regexes: ['^[$<{%*]', '^(?:x+|\\.+)$'] },
      { stopwords: ['password', 'passwd', 'secret', 'example', 'redacted', 'token', 'changeme'] },
    ],
  },
  {
    id: 'openai-project-key',
    regex: `\\b(sk-(?:proj|svcacct|admin)-[\\w-]{40,200})${end}`,
    entropy: 4,
    keywords: ['sk-'],
  },
  {
    id: 'openrouter-api-key',
    regex: `\\b(sk-or-v1-[a-f\\d]{64})${end}`,
    entropy: 3,
    keywords: ['sk-or-'],
  },
  {
    id: 'groq-api-key',
    regex: `\\b(gsk_[a-zA-Z\\d]{48,56})${end}`,
    entropy: 3.5,
    keywords: ['gsk_'],
  },
  {
    id: 'xai-api-key',
    regex: `\\b(xai-[a-zA-Z\\d]{70,90})${end}`,
    entropy: 3.5,
    keywords: ['xai-'],
  },
  {
    id: 'replicate-api-token',
    regex: `\\b(r8_[a-zA-Z\\d]{37,40})${end}`,
    entropy: 3.5,
    keywords: ['r8_'],
  },
  {
    id: 'langsmith-api-key',
    regex: `\\b(lsv2_(?:pt|sk)_[a-f\\d]{32}_[a-f\\d]{10})${end}`,
    entropy: 3,
    keywords: ['lsv2_'],
  },
  {
    id: 'tavily-api-key',
    regex: `\\b(tvly-(?:dev-|prod-)?[a-zA-Z\\d]{30,40})${end}`,
    entropy: 3.5,
    keywords: ['tvly-'],
  },
  {
    id: 'google-oauth-secret',
    regex: `\\b(GOCSPX-[\\w-]{28})${end}`,
    entropy: 3.5,
    keywords: ['gocspx-'],
  },
];

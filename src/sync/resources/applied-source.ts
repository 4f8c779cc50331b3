/** Formats and parses the text by which sync records name a source and its environment. */
import type { SourceInfo } from './resource-set.ts';

const sourceMax = 2048;

/** Formats `https://git.example.com/gw.git#main --env prod`. */
export function sourceText({
  repo,
  environment,
}: Pick<SourceInfo, 'repo' | 'environment'>): string {
  const suffix = environment == null ? '' : ` --env ${environment}`;
  return repo.slice(0, sourceMax - suffix.length) + suffix;
}

/** Parses the text of {@link sourceText}. */
export function readSourceText(text: string): { repo: string; environment: string | null } {
  const [, repo = text, environment = null] = /^(.*?)(?: --env (\S+))?$/s.exec(text) ?? [];
  return { repo, environment };
}

/** Cuts the section of a version from CHANGELOG.md. */

/** @throws Error when the changelog has no such section */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((text) => text.split(/[ \n]/, 2)[1] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ## ${version}`);
  return `# gatewright ${version}\n\n${section.split('\n').slice(1).join('\n').trim()}\n`;
}

/** Checks the guardrails that manifests name by slug or id as far as that is possible without a server. */
import { isGuardrailName } from '../../model/guardrails/guardrail-slug.ts';
import type { ExternalResource } from '../resources/resource-set.ts';
import type { Declaration } from '../validation/declaration.ts';
import { formatPath } from '../validation/spec-faults.ts';
import type { ReferenceReports } from './identities.ts';

/** The guardrails that a source declares. */
export class DeclaredGuardrails {
  readonly #names: ReadonlySet<string>;
  readonly #slugs: ReadonlySet<string>;
  readonly #reports: Pick<ReferenceReports, 'report'>;

  constructor(
    declarations: readonly Declaration[],
    externals: readonly ExternalResource[],
    reports: Pick<ReferenceReports, 'report'>,
  ) {
    const own = declarations.filter(({ identity }) => identity.kind === 'Guardrail');
    const others = externals.filter(({ identity }) => identity.kind === 'Guardrail');
    this.#names = new Set([...own, ...others].map(({ identity }) => identity.name));
    this.#slugs = new Set(others.map(({ lookup }) => lookup));
    this.#reports = reports;
  }

  /** Reports names that no guardrail can have; whether the others exist is known by the server only. */
  checkNamed({ place, absent, namedGuardrails }: Declaration): void {
    if (absent) return;
    for (const { slug, written } of namedGuardrails) {
      if (isGuardrailName(slug) || this.#slugs.has(slug)) continue;
      const message = `${formatPath(written)} names the guardrail "${slug}", which is no slug of a guardrail (pg-…) and no id`;
      const fix = this.#names.has(slug)
        ? `write guardrailRef: ${slug} for the manifest of this name`
        : 'declare the guardrail, or add an External for it, and refer to it by guardrailRef';
      this.#reports.report(place.fault(written, 'unknown-guardrail', message, fix));
    }
  }
}

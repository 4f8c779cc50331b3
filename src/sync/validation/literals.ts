/**
 * Rejects plain values that must not be in a spec: credentials, and values that programs misread.
 */
import { type KindName, kinds } from '../../model/kinds/kinds.ts';
import { levelsPart } from '../../model/manifests/path-patterns.ts';
import { looksLikeCredential } from '../resources/credential-forms.ts';
import type { SpecJson } from '../resources/resource-set.ts';
import { isReference, isSecret } from '../resources/spec-paths.ts';
import { looksEncrypted } from '../sops/encrypted-value.ts';
import { SealedValue } from '../sops/sealed-value.ts';
import type { Segments } from '../yaml/yaml-position.ts';
import { isValueFrom, unkeyed } from './secrets.ts';
import { formatPath } from './spec-faults.ts';
import type { SpecReport } from './spec-report.ts';

const placesListedMax = 12;

/** Checks the plain values of one spec. `written` is the path of the value in the manifest. */
export class Literals {
  readonly #kind: KindName;
  readonly #report: SpecReport;

  constructor(kind: KindName, report: SpecReport) {
    this.#kind = kind;
    this.#report = report;
  }

  /** Checks a value that is taken unchanged, with everything in it. */
  check(value: unknown, written: string[]): void {
    if (value instanceof SealedValue) {
      this.refuseSealed(written);
    } else if (typeof value !== 'object' || value === null) {
      this.checkScalar(value, written);
    } else if (isValueFrom(value)) {
      this.refuseValueFrom(written);
    } else {
      this.refuseStandIn(value, written);
      for (const key of Object.keys(value)) {
        written.push(key);
        if (key === '__proto__') this.refuseProto(written);
        this.check((value as Record<string, unknown>)[key], written);
        written.pop();
      }
    }
  }

  checkScalar(value: unknown, written: Segments): void {
    if (typeof value === 'string') {
      if (looksEncrypted(value)) {
        const message = `${formatPath(written)} ${unkeyed.message}`;
        this.#report.fault(written, 'sops-bare', message, unkeyed.fix);
        return;
      }
      if (!looksLikeCredential(value)) return;
      const message = `${formatPath(written)} contains what looks like a credential`;
      const fix = 'keep credentials out of the source';
      this.#report.fault(written, 'secret-literal', message, fix);
    } else if (typeof value === 'number') {
      const wrong = numberFault(value);
      if (wrong === undefined) return;
      const fix = 'put it in quotes if it is text';
      this.#report.fault(written, 'number', `${formatPath(written)} ${wrong}`, fix);
    }
  }

  refuseProto(written: Segments): void {
    this.#report.fault(written, 'unknown-field', 'the key __proto__ is not allowed');
  }

  /** Rejects an object that looks like the placeholder of a reference or a secret. */
  refuseStandIn(value: object, written: Segments): void {
    const json = value as SpecJson;
    if (!isReference(json) && !isSecret(json)) return;
    const message = `${formatPath(written)} looks like the placeholder of a reference or a secret in a plan`;
    const fix = 'references are written by name, such as guardrailRef: NAME';
    this.#report.fault(written, 'stand-in', message, fix);
  }

  refuseValueFrom(written: Segments): void {
    const message = `${formatPath(written)} is not a secret field`;
    this.#report.fault(written, 'value-from', message, this.#secretPlaces());
  }

  /** An encrypted value would become readable in plans and on the server. */
  refuseSealed(written: Segments): void {
    const message = `${formatPath(written)} is encrypted, but is not a secret field`;
    this.#report.fault(written, 'sealed-field', message, this.#secretPlaces());
  }

  #secretPlaces(): string {
    const { secrets } = kinds[this.#kind];
    const places = secrets
      .slice(0, placesListedMax)
      .map((path) => `spec.${path.replace(`${levelsPart}.`, '')}`);
    const rest = secrets.length - places.length;
    const more = rest === 0 ? '' : ` and ${rest} others (docs/reference/resources.md)`;
    return places.length === 0
      ? `a ${this.#kind} has no secret fields`
      : `secret fields of a ${this.#kind} are ${places.join(', ')}${more}`;
  }
}

/** Returns why a YAML number cannot be represented exactly in JSON or a program. */
function numberFault(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'must be a finite number';
  const isExact = !Number.isInteger(value) || Number.isSafeInteger(value);
  return isExact ? undefined : 'is too large to be read exactly';
}

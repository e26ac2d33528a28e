// Axes of a plot area: where values lie, which part is shown, and which values get ticks.
//
// All places are shares of an axis: 0 where it starts, 1 where it ends. Ticks are chosen by the
// rules of tick.rs.
const SMALLEST_WINDOW = 1e-3;
const PREFIXES = ["", "Ki", "Mi", "Gi", "Ti"];

const plain = (value, decimals) =>
  String(Number(value.toFixed(Math.min(Math.max(decimals, 0), 20))));
const significant = (value, digits) =>
  value === 0 ? "0" : plain(value, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
const roundStep = (step) => {
  const power = 10 ** Math.floor(Math.log10(step));
  return ([1, 2, 5].find((factor) => factor * power >= step * 0.999999) ?? 10) * power;
};

/** One axis of a plot area, and the part of it that is shown. */
class Axis {
  constructor(data, name) {
    const read = (key) => data[name + key];
    const number = (key, otherwise) => (read(key) === undefined ? otherwise : Number(read(key)));
    this.scale = read("Scale");
    [this.from, this.to] = [number("From"), number("To")];
    [this.first, this.last] = [number("First"), number("Last")];
    this.start = number("Start", this.first);
    this.zero = number("Zero", null);
    [this.unit, this.size] = [read("Unit") ?? "", number("Size", 1)];
    this.isBytes = read("Quantity") === "bytes";
    this.names = this.scale === "names" ? data.names.split("|") : null;
    this.window = [0, 1];
  }
  get length() {
    return this.last - this.start;
  }
  /** Where what was drawn at `px` lies now. */
  move(px) {
    const [low, high] = this.window;
    return this.start + (((px - this.start) / this.length - low) / (high - low)) * this.length;
  }
  /** Where on the whole axis something lies that is at `px` now. */
  share(px) {
    const [low, high] = this.window;
    return low + ((px - this.start) / this.length) * (high - low);
  }
  /** Where `value` lies now. */
  place(value) {
    if (value === 0 && this.zero !== null) return this.move(this.zero);
    const share =
      this.scale === "linear"
        ? (value - this.from) / (this.to - this.from)
        : Math.log(value / this.from) / Math.log(this.to / this.from);
    return this.move(this.first + share * (this.last - this.first));
  }
  /** The value at a share of the axis. */
  value(share) {
    const inner = (this.start + share * this.length - this.first) / (this.last - this.first);
    if (this.zero !== null && inner < 0) return 0;
    return this.scale === "linear"
      ? this.from + inner * (this.to - this.from)
      : this.from * (this.to / this.from) ** inner;
  }
  show(low, high) {
    const width = Math.min(1, Math.max(SMALLEST_WINDOW, high - low));
    const first = Math.min(Math.max(low, 0), 1 - width);
    this.window = [first, first + width];
  }
  /** A value that was read from a place, and so has few digits. */
  write(value) {
    const [size, unit] = this.isBytes ? [1, "B"] : [this.size, this.unit];
    return `${Number((value / size).toPrecision(3))} ${unit}`.trim();
  }
  isInside(px) {
    return (px - this.start) * (px - this.last) <= 0.01;
  }
  /** Places and labels of ticks that keep `spacing` pixels apart, and places of small ones. */
  ticks(spacing) {
    if (this.names) return { major: this.nameTicks(spacing), minor: [] };
    const least = Math.max(this.window[0], (this.first - this.start) / this.length);
    const [low, high] = [least, this.window[1]].map((share) => this.value(share) / this.size);
    let values = { major: [], minor: [] };
    if (this.window[1] > least) {
      const shown = (this.window[1] - least) / (this.window[1] - this.window[0]);
      values = this.values(low, high, Math.max(2, (Math.abs(this.length) * shown) / spacing));
    }
    const place = (value) => this.place(value * this.size);
    const major = values.major.map(([value, label]) => [place(value), label]);
    if (this.zero !== null && this.isInside(this.move(this.zero)))
      major.push([this.move(this.zero), "0"]);
    const isShown = (px) => this.isInside(px);
    return {
      major: major.filter(([px]) => isShown(px)),
      minor: values.minor.map(place).filter(isShown),
    };
  }
  values(low, high, most) {
    if (this.scale === "linear")
      return { major: linear(low, high, roundStep((high - low) / most)), minor: [] };
    const base = this.scale === "log2" ? 2 : 10;
    const label = base === 2 ? (power) => this.binary(power) : decimal;
    let major = powers(low, high, base, most, label);
    if (major.length < 2) major = betweenPowers(low, high, base, most);
    return { major, minor: base === 10 ? minors(low, high, major) : [] };
  }
  binary(power) {
    if (!this.isBytes || power < 0) return plain(2 ** power, 6);
    const index = Math.min(Math.floor(power / 10), PREFIXES.length - 1);
    return 2 ** (power - 10 * index) + PREFIXES[index];
  }
  nameTicks(spacing) {
    const pitch = this.length / this.names.length;
    const shown = Math.abs(pitch) / (this.window[1] - this.window[0]);
    const step = 2 ** Math.max(0, Math.ceil(Math.log2(spacing / shown)));
    const ticks = this.names.map((name, index) => [
      this.move(this.start + pitch * (index + 0.5)),
      name,
    ]);
    return ticks.filter(([px], index) => index % step === 0 && this.isInside(px));
  }
}

const range = (first, last) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
const linear = (low, high, step) => {
  const decimals = Math.max(0, -Math.floor(Math.log10(step)));
  const indices = range(Math.ceil(low / step - 1e-6), Math.floor(high / step + 1e-6));
  return indices.map((index) => [index * step, plain(index * step, decimals)]);
};
const powers = (low, high, base, most, label) => {
  const [first, last] = [low, high].map((value) => Math.log(value) / Math.log(base));
  const all = range(Math.ceil(first - 1e-6), Math.floor(last + 1e-6));
  const step = [1, 2, 4, 8, 16, 32, 64, 128].find((step) => all.length / step <= most) ?? 256;
  return all.filter((power) => power % step === 0).map((power) => [base ** power, label(power)]);
};
const decades = (low, high) => range(Math.floor(Math.log10(low)), Math.floor(Math.log10(high)));
const steps125 = (low, high) =>
  decades(low, high)
    .flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power))
    .filter((value) => value >= low && value <= high)
    .map((value) => [value, significant(value, 1)]);
const betweenPowers = (low, high, base, most) => {
  const few = base === 10 ? steps125(low, high) : [];
  if (few.length >= 3) return few;
  // Where ticks are closest to each other, at the upper end, they keep their distance.
  return linear(low, high, roundStep((high * Math.log(high / low)) / most));
};
const minors = (low, high, major) => {
  if (major.length > 1 && major[1][0] > major[0][0] * 11) return [];
  return decades(low, high)
    .flatMap((power) => range(2, 9).map((factor) => factor * 10 ** power))
    .filter((value) => value >= low && value <= high);
};
const decimal = (power) => {
  if (power >= -3 && power <= 4) return plain(10 ** power, 3);
  return "10" + [...String(power)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("");
};

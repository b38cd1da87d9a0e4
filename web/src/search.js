// Bisection in sorted parts of typed arrays.

/** The first place in [low, high) whose number is greater than the bound; else high. */
export function firstAfter(numbers, bound, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** As `firstAfter`, but it takes steps that double: quick where the place is near. */
export function nextAfter(numbers, bound, low, high) {
  let step = 1;
  let last = low;
  while (last < high && numbers[last] <= bound) {
    low = last + 1;
    last += step;
    step *= 2;
  }
  return firstAfter(numbers, bound, low, Math.min(last, high));
}

# Steps of a script that a person watches: each is announced, keeps its output in a log, and a failed one says which
# it was, why, and where the log lies. Also: the Debian packages that are missing, and how they get here.
# Sourced by tools/quickstart and tools/test, which set $program and $logs.

stepNumber=0

# announce TEXT: the next step has this name.
announce() {
  stepNumber=$((stepNumber + 1))
  stepName=$1
  printf '[%d] %s\n' "$stepNumber" "$stepName"
}

# logged SHOWN LOG COMMAND...: runs the command; SHOWN is `show` (output on the terminal too) or `quiet`.
logged() {
  local shown=$1 log=$logs/$2.log status=0
  shift 2
  mkdir -p "$logs"
  if [ "$shown" = show ]; then
    "$@" 2>&1 | tee "$log" || status=$?
  else
    "$@" > "$log" 2>&1 || status=$?
  fi
  [ "$status" = 0 ] || explain "$shown" "$status" "$log"
  return "$status"
}

# explain SHOWN STATUS LOG: the lines that look like a cause, and the end of what was not on the terminal already.
explain() {
  {
    printf '\n%s: step %d failed: %s (status %s)\n' "$program" "$stepNumber" "$stepName" "$2"
    grep -E -m 10 '(error|ERROR|^E)[:! ]' "$3" | sed 's/^/    /' || true
    if [ "$1" = quiet ]; then
      printf 'The end of its output:\n'
      tail -n 20 "$3" | sed 's/^/    /'
    fi
    printf '%s: the whole output is in %s\n' "$program" "$3"
  } >&2
}

# packagesOf GROUP...: names from tools/packages.txt.
packagesOf() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' "$root/tools/packages.txt"
  done
}

missingPackages() {
  local package
  for package in $(packagesOf "$@"); do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || echo "$package"
  done
}

# installPackages GROUP...: asks apt-get for what is missing and for nothing else.
installPackages() {
  if ! command -v apt-get > /dev/null; then
    echo "$program: this is no Debian: install the like of these by hand: $(packagesOf "$@" | xargs)" >&2
    return 1
  fi
  local missing asRoot
  missing=$(missingPackages "$@" | xargs)
  if [ -z "$missing" ]; then
    echo "    all packages are here"
    return 0
  fi
  if [ "$(id -u)" = 0 ]; then
    asRoot=()
  elif sudo -n true 2> /dev/null; then
    asRoot=(sudo -n)
  else
    {
      echo "$program: these packages are missing, and installing them takes rights that you do not have here."
      echo "$program: run this, then $program again:"
      echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
    } >&2
    return 1
  fi
  echo "    installing $missing"
  logged quiet packages aptInstall $missing
}

# The list of packages is fetched only when it does not know a name, or when what it knows is no longer served.
aptInstall() {
  local apt=("${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get)
  local get=("${apt[@]}" install -y --no-install-recommends "$@")
  if apt-cache show "$@" > /dev/null 2>&1 && "${get[@]}"; then return 0; fi
  "${apt[@]}" update && "${get[@]}"
}

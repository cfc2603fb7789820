;; The relay by hand: the input lies at 0 (there is no alloc), the answer of the host at 8 MiB,
;; what this gene answers at 4 MiB.
(module
  (import "rotifer" "readMemory" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "writeMemory" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "queryMemory" (func $query (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "deleteMemory" (func $delete (param i32 i32 i32 i32) (result i32)))
  (import "rotifer" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 192 192)
  (global $to (mut i32) (i32.const 0))

  (func $put (param $byte i32)
    (i32.store8 (global.get $to) (local.get $byte))
    (global.set $to (i32.add (global.get $to) (i32.const 1))))

  (func $put_number (param $number i32)
    (local $unit i32)
    (if (i32.lt_s (local.get $number) (i32.const 0))
      (then
        (call $put (i32.const 45))
        (local.set $number (i32.sub (i32.const 0) (local.get $number)))))
    (local.set $unit (i32.const 1))
    (block $found
      (loop $more
        (br_if $found
          (i32.lt_u (i32.div_u (local.get $number) (local.get $unit)) (i32.const 10)))
        (local.set $unit (i32.mul (local.get $unit) (i32.const 10)))
        (br $more)))
    (loop $digit
      (call $put
        (i32.add (i32.const 48)
          (i32.rem_u (i32.div_u (local.get $number) (local.get $unit)) (i32.const 10))))
      (local.set $unit (i32.div_u (local.get $unit) (i32.const 10)))
      (br_if $digit (local.get $unit))))

  ;; The end of the JSON value that starts at $at.
  (func $skip (param $at i32) (result i32)
    (local $depth i32) (local $byte i32)
    (loop $next
      (local.set $byte (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 34))
        (then
          (block $closed
            (loop $inside
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (local.set $byte (i32.load8_u (local.get $at)))
              (br_if $closed (i32.eq (local.get $byte) (i32.const 34)))
              (if (i32.eq (local.get $byte) (i32.const 92))
                (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
              (br $inside))))
        (else
          ;; { and [ differ by one bit, and so do } and ]
          (if (i32.eq (i32.or (local.get $byte) (i32.const 32)) (i32.const 123))
            (then (local.set $depth (i32.add (local.get $depth) (i32.const 1)))))
          (if (i32.eq (i32.or (local.get $byte) (i32.const 32)) (i32.const 125))
            (then (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.gt_s (local.get $depth) (i32.const 0))))
    (local.get $at))

  (func $call (param $op i32) (param $request i32) (param $length i32) (param $room i32)
    (result i32)
    (if (i32.eq (local.get $op) (i32.const 114))
      (then (return (call $read (local.get $request) (local.get $length)
        (i32.const 8388608) (local.get $room)))))
    (if (i32.eq (local.get $op) (i32.const 119))
      (then (return (call $write (local.get $request) (local.get $length)
        (i32.const 8388608) (local.get $room)))))
    (if (i32.eq (local.get $op) (i32.const 113))
      (then (return (call $query (local.get $request) (local.get $length)
        (i32.const 8388608) (local.get $room)))))
    (call $delete (local.get $request) (local.get $length)
      (i32.const 8388608) (local.get $room)))

  (func (export "express") (param $at i32) (param $length i32) (result i32)
    (local $op i32) (local $room i32) (local $request i32) (local $end i32)
    (local $result i32) (local $from i32)
    (global.set $to (i32.const 4194304))
    (call $put (i32.const 91))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (block $done
      (loop $next
        (br_if $done (i32.eq (i32.load8_u (local.get $at)) (i32.const 93)))
        (local.set $op (i32.load8_u offset=1 (local.get $at)))
        (local.set $at (i32.add (call $skip (local.get $at)) (i32.const 1)))
        (local.set $room (i32.const 0))
        (loop $digit
          (local.set $room
            (i32.add (i32.mul (local.get $room) (i32.const 10))
              (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $digit (i32.ne (i32.load8_u (local.get $at)) (i32.const 44))))
        (local.set $request (i32.add (local.get $at) (i32.const 1)))
        (local.set $end (call $skip (local.get $request)))
        (local.set $at (local.get $end))
        (if (i32.eq (i32.load8_u (local.get $request)) (i32.const 34))
          (then
            (local.set $request (i32.add (local.get $request) (i32.const 1)))
            (local.set $end (i32.sub (local.get $end) (i32.const 1)))))
        (i32.store8 (i32.const 8388608) (i32.const 0))
        (local.set $result
          (call $call (local.get $op) (local.get $request)
            (i32.sub (local.get $end) (local.get $request)) (local.get $room)))
        (if (i32.ne (global.get $to) (i32.const 4194305))
          (then (call $put (i32.const 44))))
        (call $put (i32.const 91))
        (local.set $from (global.get $to))
        (call $put_number (local.get $result))
        (call $log (i32.const 1) (local.get $from) (i32.sub (global.get $to) (local.get $from)))
        (call $put (i32.const 44))
        (local.set $from (i32.const 8388608))
        (if (i32.lt_s (local.get $result) (i32.const 0))
          (then
            (if (i32.load8_u (local.get $from))
              (then
                (loop $byte
                  (call $put (i32.load8_u (local.get $from)))
                  (local.set $from (i32.add (local.get $from) (i32.const 1)))
                  (br_if $byte (i32.load8_u (local.get $from)))))
              (else
                (i32.store (global.get $to) (i32.const 0x6c6c756e)) ;; null
                (global.set $to (i32.add (global.get $to) (i32.const 4))))))
          (else
            (memory.copy (global.get $to) (local.get $from) (local.get $result))
            (global.set $to (i32.add (global.get $to) (local.get $result)))))
        (call $put (i32.const 93))
        (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 44))
          (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
        (br $next)))
    (call $put (i32.const 93))
    (call $put (i32.const 0))
    (i32.const 4194304)))

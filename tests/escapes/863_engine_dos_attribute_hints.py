class S(Strategy):
    def on_bar(self, bar):
        self.value_of_x_0 = 1
        self.value_of_x_1 = 1
        self.value_of_x_2 = 1
        self.value_of_x_3 = 1
        self.value_of_x_4 = 1
        self.value_of_x_5 = 1
        self.value_of_x_6 = 1
        self.value_of_x_7 = 1
        self.value_of_x_8 = 1
        self.value_of_x_9 = 1
        self.value_of_x_10 = 1
        self.value_of_x_11 = 1
        self.value_of_x_12 = 1
        self.value_of_x_13 = 1
        self.value_of_x_14 = 1
        self.value_of_x_15 = 1
        self.value_of_x_16 = 1
        self.value_of_x_17 = 1
        self.value_of_x_18 = 1
        self.value_of_x_19 = 1
        self.value_of_x_20 = 1
        self.value_of_x_21 = 1
        self.value_of_x_22 = 1
        self.value_of_x_23 = 1
        self.value_of_x_24 = 1
        self.value_of_x_25 = 1
        self.value_of_x_26 = 1
        self.value_of_x_27 = 1
        self.value_of_x_28 = 1
        self.value_of_x_29 = 1
        self.value_of_x_30 = 1
        self.value_of_x_31 = 1
        self.value_of_x_32 = 1
        self.value_of_x_33 = 1
        self.value_of_x_34 = 1
        self.value_of_x_35 = 1
        self.value_of_x_36 = 1
        self.value_of_x_37 = 1
        self.value_of_x_38 = 1
        self.value_of_x_39 = 1
        self.value_of_x_40 = 1
        self.value_of_x_41 = 1
        self.value_of_x_42 = 1
        self.value_of_x_43 = 1
        self.value_of_x_44 = 1
        self.value_of_x_45 = 1
        self.value_of_x_46 = 1
        self.value_of_x_47 = 1
        self.value_of_x_48 = 1
        self.value_of_x_49 = 1
        self.value_of_x_50 = 1
        self.value_of_x_51 = 1
        self.value_of_x_52 = 1
        self.value_of_x_53 = 1
        self.value_of_x_54 = 1
        self.value_of_x_55 = 1
        self.value_of_x_56 = 1
        self.value_of_x_57 = 1
        self.value_of_x_58 = 1
        self.value_of_x_59 = 1
        self.value_of_x_60 = 1
        self.value_of_x_61 = 1
        self.value_of_x_62 = 1
        self.value_of_x_63 = 1
        self.value_of_x_64 = 1
        self.value_of_x_65 = 1
        self.value_of_x_66 = 1
        self.value_of_x_67 = 1
        self.value_of_x_68 = 1
        self.value_of_x_69 = 1
        self.value_of_x_70 = 1
        self.value_of_x_71 = 1
        self.value_of_x_72 = 1
        self.value_of_x_73 = 1
        self.value_of_x_74 = 1
        self.value_of_x_75 = 1
        self.value_of_x_76 = 1
        self.value_of_x_77 = 1
        self.value_of_x_78 = 1
        self.value_of_x_79 = 1
        self.value_of_x_80 = 1
        self.value_of_x_81 = 1
        self.value_of_x_82 = 1
        self.value_of_x_83 = 1
        self.value_of_x_84 = 1
        self.value_of_x_85 = 1
        self.value_of_x_86 = 1
        self.value_of_x_87 = 1
        self.value_of_x_88 = 1
        self.value_of_x_89 = 1
        self.value_of_x_90 = 1
        self.value_of_x_91 = 1
        self.value_of_x_92 = 1
        self.value_of_x_93 = 1
        self.value_of_x_94 = 1
        self.value_of_x_95 = 1
        self.value_of_x_96 = 1
        self.value_of_x_97 = 1
        self.value_of_x_98 = 1
        self.value_of_x_99 = 1
        self.value_of_x_100 = 1
        self.value_of_x_101 = 1
        self.value_of_x_102 = 1
        self.value_of_x_103 = 1
        self.value_of_x_104 = 1
        self.value_of_x_105 = 1
        self.value_of_x_106 = 1
        self.value_of_x_107 = 1
        self.value_of_x_108 = 1
        self.value_of_x_109 = 1
        self.value_of_x_110 = 1
        self.value_of_x_111 = 1
        self.value_of_x_112 = 1
        self.value_of_x_113 = 1
        self.value_of_x_114 = 1
        self.value_of_x_115 = 1
        self.value_of_x_116 = 1
        self.value_of_x_117 = 1
        self.value_of_x_118 = 1
        self.value_of_x_119 = 1
        self.value_of_x_120 = 1
        self.value_of_x_121 = 1
        self.value_of_x_122 = 1
        self.value_of_x_123 = 1
        self.value_of_x_124 = 1
        self.value_of_x_125 = 1
        self.value_of_x_126 = 1
        self.value_of_x_127 = 1
        self.value_of_x_128 = 1
        self.value_of_x_129 = 1
        self.value_of_x_130 = 1
        self.value_of_x_131 = 1
        self.value_of_x_132 = 1
        self.value_of_x_133 = 1
        self.value_of_x_134 = 1
        self.value_of_x_135 = 1
        self.value_of_x_136 = 1
        self.value_of_x_137 = 1
        self.value_of_x_138 = 1
        self.value_of_x_139 = 1
        self.value_of_x_140 = 1
        self.value_of_x_141 = 1
        self.value_of_x_142 = 1
        self.value_of_x_143 = 1
        self.value_of_x_144 = 1
        self.value_of_x_145 = 1
        self.value_of_x_146 = 1
        self.value_of_x_147 = 1
        self.value_of_x_148 = 1
        self.value_of_x_149 = 1
        self.value_of_x_150 = 1
        self.value_of_x_151 = 1
        self.value_of_x_152 = 1
        self.value_of_x_153 = 1
        self.value_of_x_154 = 1
        self.value_of_x_155 = 1
        self.value_of_x_156 = 1
        self.value_of_x_157 = 1
        self.value_of_x_158 = 1
        self.value_of_x_159 = 1
        self.value_of_x_160 = 1
        self.value_of_x_161 = 1
        self.value_of_x_162 = 1
        self.value_of_x_163 = 1
        self.value_of_x_164 = 1
        self.value_of_x_165 = 1
        self.value_of_x_166 = 1
        self.value_of_x_167 = 1
        self.value_of_x_168 = 1
        self.value_of_x_169 = 1
        self.value_of_x_170 = 1
        self.value_of_x_171 = 1
        self.value_of_x_172 = 1
        self.value_of_x_173 = 1
        self.value_of_x_174 = 1
        self.value_of_x_175 = 1
        self.value_of_x_176 = 1
        self.value_of_x_177 = 1
        self.value_of_x_178 = 1
        self.value_of_x_179 = 1
        self.value_of_x_180 = 1
        self.value_of_x_181 = 1
        self.value_of_x_182 = 1
        self.value_of_x_183 = 1
        self.value_of_x_184 = 1
        self.value_of_x_185 = 1
        self.value_of_x_186 = 1
        self.value_of_x_187 = 1
        self.value_of_x_188 = 1
        self.value_of_x_189 = 1
        self.value_of_x_190 = 1
        self.value_of_x_191 = 1
        self.value_of_x_192 = 1
        self.value_of_x_193 = 1
        self.value_of_x_194 = 1
        self.value_of_x_195 = 1
        self.value_of_x_196 = 1
        self.value_of_x_197 = 1
        self.value_of_x_198 = 1
        self.value_of_x_199 = 1
        self.value_of_x_200 = 1
        self.value_of_x_201 = 1
        self.value_of_x_202 = 1
        self.value_of_x_203 = 1
        self.value_of_x_204 = 1
        self.value_of_x_205 = 1
        self.value_of_x_206 = 1
        self.value_of_x_207 = 1
        self.value_of_x_208 = 1
        self.value_of_x_209 = 1
        self.value_of_x_210 = 1
        self.value_of_x_211 = 1
        self.value_of_x_212 = 1
        self.value_of_x_213 = 1
        self.value_of_x_214 = 1
        self.value_of_x_215 = 1
        self.value_of_x_216 = 1
        self.value_of_x_217 = 1
        self.value_of_x_218 = 1
        self.value_of_x_219 = 1
        self.value_of_x_220 = 1
        self.value_of_x_221 = 1
        self.value_of_x_222 = 1
        self.value_of_x_223 = 1
        self.value_of_x_224 = 1
        self.value_of_x_225 = 1
        self.value_of_x_226 = 1
        self.value_of_x_227 = 1
        self.value_of_x_228 = 1
        self.value_of_x_229 = 1
        self.value_of_x_230 = 1
        self.value_of_x_231 = 1
        self.value_of_x_232 = 1
        self.value_of_x_233 = 1
        self.value_of_x_234 = 1
        self.value_of_x_235 = 1
        self.value_of_x_236 = 1
        self.value_of_x_237 = 1
        self.value_of_x_238 = 1
        self.value_of_x_239 = 1
        self.value_of_x_240 = 1
        self.value_of_x_241 = 1
        self.value_of_x_242 = 1
        self.value_of_x_243 = 1
        self.value_of_x_244 = 1
        self.value_of_x_245 = 1
        self.value_of_x_246 = 1
        self.value_of_x_247 = 1
        self.value_of_x_248 = 1
        self.value_of_x_249 = 1
        self.value_of_x_250 = 1
        self.value_of_x_251 = 1
        self.value_of_x_252 = 1
        self.value_of_x_253 = 1
        self.value_of_x_254 = 1
        self.value_of_x_255 = 1
        self.value_of_x_256 = 1
        self.value_of_x_257 = 1
        self.value_of_x_258 = 1
        self.value_of_x_259 = 1
        self.value_of_x_260 = 1
        self.value_of_x_261 = 1
        self.value_of_x_262 = 1
        self.value_of_x_263 = 1
        self.value_of_x_264 = 1
        self.value_of_x_265 = 1
        self.value_of_x_266 = 1
        self.value_of_x_267 = 1
        self.value_of_x_268 = 1
        self.value_of_x_269 = 1
        self.value_of_x_270 = 1
        self.value_of_x_271 = 1
        self.value_of_x_272 = 1
        self.value_of_x_273 = 1
        self.value_of_x_274 = 1
        self.value_of_x_275 = 1
        self.value_of_x_276 = 1
        self.value_of_x_277 = 1
        self.value_of_x_278 = 1
        self.value_of_x_279 = 1
        self.value_of_x_280 = 1
        self.value_of_x_281 = 1
        self.value_of_x_282 = 1
        self.value_of_x_283 = 1
        self.value_of_x_284 = 1
        self.value_of_x_285 = 1
        self.value_of_x_286 = 1
        self.value_of_x_287 = 1
        self.value_of_x_288 = 1
        self.value_of_x_289 = 1
        self.value_of_x_290 = 1
        self.value_of_x_291 = 1
        self.value_of_x_292 = 1
        self.value_of_x_293 = 1
        self.value_of_x_294 = 1
        self.value_of_x_295 = 1
        self.value_of_x_296 = 1
        self.value_of_x_297 = 1
        self.value_of_x_298 = 1
        self.value_of_x_299 = 1
        self.value_of_x_300 = 1
        self.value_of_x_301 = 1
        self.value_of_x_302 = 1
        self.value_of_x_303 = 1
        self.value_of_x_304 = 1
        self.value_of_x_305 = 1
        self.value_of_x_306 = 1
        self.value_of_x_307 = 1
        self.value_of_x_308 = 1
        self.value_of_x_309 = 1
        self.value_of_x_310 = 1
        self.value_of_x_311 = 1
        self.value_of_x_312 = 1
        self.value_of_x_313 = 1
        self.value_of_x_314 = 1
        self.value_of_x_315 = 1
        self.value_of_x_316 = 1
        self.value_of_x_317 = 1
        self.value_of_x_318 = 1
        self.value_of_x_319 = 1
        self.value_of_x_320 = 1
        self.value_of_x_321 = 1
        self.value_of_x_322 = 1
        self.value_of_x_323 = 1
        self.value_of_x_324 = 1
        self.value_of_x_325 = 1
        self.value_of_x_326 = 1
        self.value_of_x_327 = 1
        self.value_of_x_328 = 1
        self.value_of_x_329 = 1
        self.value_of_x_330 = 1
        self.value_of_x_331 = 1
        self.value_of_x_332 = 1
        self.value_of_x_333 = 1
        self.value_of_x_334 = 1
        self.value_of_x_335 = 1
        self.value_of_x_336 = 1
        self.value_of_x_337 = 1
        self.value_of_x_338 = 1
        self.value_of_x_339 = 1
        self.value_of_x_340 = 1
        self.value_of_x_341 = 1
        self.value_of_x_342 = 1
        self.value_of_x_343 = 1
        self.value_of_x_344 = 1
        self.value_of_x_345 = 1
        self.value_of_x_346 = 1
        self.value_of_x_347 = 1
        self.value_of_x_348 = 1
        self.value_of_x_349 = 1
        self.value_of_x_350 = 1
        self.value_of_x_351 = 1
        self.value_of_x_352 = 1
        self.value_of_x_353 = 1
        self.value_of_x_354 = 1
        self.value_of_x_355 = 1
        self.value_of_x_356 = 1
        self.value_of_x_357 = 1
        self.value_of_x_358 = 1
        self.value_of_x_359 = 1
        self.value_of_x_360 = 1
        self.value_of_x_361 = 1
        self.value_of_x_362 = 1
        self.value_of_x_363 = 1
        self.value_of_x_364 = 1
        self.value_of_x_365 = 1
        self.value_of_x_366 = 1
        self.value_of_x_367 = 1
        self.value_of_x_368 = 1
        self.value_of_x_369 = 1
        self.value_of_x_370 = 1
        self.value_of_x_371 = 1
        self.value_of_x_372 = 1
        self.value_of_x_373 = 1
        self.value_of_x_374 = 1
        self.value_of_x_375 = 1
        self.value_of_x_376 = 1
        self.value_of_x_377 = 1
        self.value_of_x_378 = 1
        self.value_of_x_379 = 1
        self.value_of_x_380 = 1
        self.value_of_x_381 = 1
        self.value_of_x_382 = 1
        self.value_of_x_383 = 1
        self.value_of_x_384 = 1
        self.value_of_x_385 = 1
        self.value_of_x_386 = 1
        self.value_of_x_387 = 1
        self.value_of_x_388 = 1
        self.value_of_x_389 = 1
        self.value_of_x_390 = 1
        self.value_of_x_391 = 1
        self.value_of_x_392 = 1
        self.value_of_x_393 = 1
        self.value_of_x_394 = 1
        self.value_of_x_395 = 1
        self.value_of_x_396 = 1
        self.value_of_x_397 = 1
        self.value_of_x_398 = 1
        self.value_of_x_399 = 1
        self.value_of_x_400 = 1
        self.value_of_x_401 = 1
        self.value_of_x_402 = 1
        self.value_of_x_403 = 1
        self.value_of_x_404 = 1
        self.value_of_x_405 = 1
        self.value_of_x_406 = 1
        self.value_of_x_407 = 1
        self.value_of_x_408 = 1
        self.value_of_x_409 = 1
        self.value_of_x_410 = 1
        self.value_of_x_411 = 1
        self.value_of_x_412 = 1
        self.value_of_x_413 = 1
        self.value_of_x_414 = 1
        self.value_of_x_415 = 1
        self.value_of_x_416 = 1
        self.value_of_x_417 = 1
        self.value_of_x_418 = 1
        self.value_of_x_419 = 1
        self.value_of_x_420 = 1
        self.value_of_x_421 = 1
        self.value_of_x_422 = 1
        self.value_of_x_423 = 1
        self.value_of_x_424 = 1
        self.value_of_x_425 = 1
        self.value_of_x_426 = 1
        self.value_of_x_427 = 1
        self.value_of_x_428 = 1
        self.value_of_x_429 = 1
        self.value_of_x_430 = 1
        self.value_of_x_431 = 1
        self.value_of_x_432 = 1
        self.value_of_x_433 = 1
        self.value_of_x_434 = 1
        self.value_of_x_435 = 1
        self.value_of_x_436 = 1
        self.value_of_x_437 = 1
        self.value_of_x_438 = 1
        self.value_of_x_439 = 1
        self.value_of_x_440 = 1
        self.value_of_x_441 = 1
        self.value_of_x_442 = 1
        self.value_of_x_443 = 1
        self.value_of_x_444 = 1
        self.value_of_x_445 = 1
        self.value_of_x_446 = 1
        self.value_of_x_447 = 1
        self.value_of_x_448 = 1
        self.value_of_x_449 = 1
        self.value_of_x_450 = 1
        self.value_of_x_451 = 1
        self.value_of_x_452 = 1
        self.value_of_x_453 = 1
        self.value_of_x_454 = 1
        self.value_of_x_455 = 1
        self.value_of_x_456 = 1
        self.value_of_x_457 = 1
        self.value_of_x_458 = 1
        self.value_of_x_459 = 1
        self.value_of_x_460 = 1
        self.value_of_x_461 = 1
        self.value_of_x_462 = 1
        self.value_of_x_463 = 1
        self.value_of_x_464 = 1
        self.value_of_x_465 = 1
        self.value_of_x_466 = 1
        self.value_of_x_467 = 1
        self.value_of_x_468 = 1
        self.value_of_x_469 = 1
        self.value_of_x_470 = 1
        self.value_of_x_471 = 1
        self.value_of_x_472 = 1
        self.value_of_x_473 = 1
        self.value_of_x_474 = 1
        self.value_of_x_475 = 1
        self.value_of_x_476 = 1
        self.value_of_x_477 = 1
        self.value_of_x_478 = 1
        self.value_of_x_479 = 1
        self.value_of_x_480 = 1
        self.value_of_x_481 = 1
        self.value_of_x_482 = 1
        self.value_of_x_483 = 1
        self.value_of_x_484 = 1
        self.value_of_x_485 = 1
        self.value_of_x_486 = 1
        self.value_of_x_487 = 1
        self.value_of_x_488 = 1
        self.value_of_x_489 = 1
        self.value_of_x_490 = 1
        self.value_of_x_491 = 1
        self.value_of_x_492 = 1
        self.value_of_x_493 = 1
        self.value_of_x_494 = 1
        self.value_of_x_495 = 1
        self.value_of_x_496 = 1
        self.value_of_x_497 = 1
        self.value_of_x_498 = 1
        self.value_of_x_499 = 1
        self.valeu_of_x_0
        self.valeu_of_x_1
        self.valeu_of_x_2
        self.valeu_of_x_3
        self.valeu_of_x_4
        self.valeu_of_x_5
        self.valeu_of_x_6
        self.valeu_of_x_7
        self.valeu_of_x_8
        self.valeu_of_x_9
        self.valeu_of_x_10
        self.valeu_of_x_11
        self.valeu_of_x_12
        self.valeu_of_x_13
        self.valeu_of_x_14
        self.valeu_of_x_15
        self.valeu_of_x_16
        self.valeu_of_x_17
        self.valeu_of_x_18
        self.valeu_of_x_19
        self.valeu_of_x_20
        self.valeu_of_x_21
        self.valeu_of_x_22
        self.valeu_of_x_23
        self.valeu_of_x_24
        self.valeu_of_x_25
        self.valeu_of_x_26
        self.valeu_of_x_27
        self.valeu_of_x_28
        self.valeu_of_x_29
        self.valeu_of_x_30
        self.valeu_of_x_31
        self.valeu_of_x_32
        self.valeu_of_x_33
        self.valeu_of_x_34
        self.valeu_of_x_35
        self.valeu_of_x_36
        self.valeu_of_x_37
        self.valeu_of_x_38
        self.valeu_of_x_39
        self.valeu_of_x_40
        self.valeu_of_x_41
        self.valeu_of_x_42
        self.valeu_of_x_43
        self.valeu_of_x_44
        self.valeu_of_x_45
        self.valeu_of_x_46
        self.valeu_of_x_47
        self.valeu_of_x_48
        self.valeu_of_x_49
        self.valeu_of_x_50
        self.valeu_of_x_51
        self.valeu_of_x_52
        self.valeu_of_x_53
        self.valeu_of_x_54
        self.valeu_of_x_55
        self.valeu_of_x_56
        self.valeu_of_x_57
        self.valeu_of_x_58
        self.valeu_of_x_59
        self.valeu_of_x_60
        self.valeu_of_x_61
        self.valeu_of_x_62
        self.valeu_of_x_63
        self.valeu_of_x_64
        self.valeu_of_x_65
        self.valeu_of_x_66
        self.valeu_of_x_67
        self.valeu_of_x_68
        self.valeu_of_x_69
        self.valeu_of_x_70
        self.valeu_of_x_71
        self.valeu_of_x_72
        self.valeu_of_x_73
        self.valeu_of_x_74
        self.valeu_of_x_75
        self.valeu_of_x_76
        self.valeu_of_x_77
        self.valeu_of_x_78
        self.valeu_of_x_79
        self.valeu_of_x_80
        self.valeu_of_x_81
        self.valeu_of_x_82
        self.valeu_of_x_83
        self.valeu_of_x_84
        self.valeu_of_x_85
        self.valeu_of_x_86
        self.valeu_of_x_87
        self.valeu_of_x_88
        self.valeu_of_x_89
        self.valeu_of_x_90
        self.valeu_of_x_91
        self.valeu_of_x_92
        self.valeu_of_x_93
        self.valeu_of_x_94
        self.valeu_of_x_95
        self.valeu_of_x_96
        self.valeu_of_x_97
        self.valeu_of_x_98
        self.valeu_of_x_99
        self.valeu_of_x_100
        self.valeu_of_x_101
        self.valeu_of_x_102
        self.valeu_of_x_103
        self.valeu_of_x_104
        self.valeu_of_x_105
        self.valeu_of_x_106
        self.valeu_of_x_107
        self.valeu_of_x_108
        self.valeu_of_x_109
        self.valeu_of_x_110
        self.valeu_of_x_111
        self.valeu_of_x_112
        self.valeu_of_x_113
        self.valeu_of_x_114
        self.valeu_of_x_115
        self.valeu_of_x_116
        self.valeu_of_x_117
        self.valeu_of_x_118
        self.valeu_of_x_119
        self.valeu_of_x_120
        self.valeu_of_x_121
        self.valeu_of_x_122
        self.valeu_of_x_123
        self.valeu_of_x_124
        self.valeu_of_x_125
        self.valeu_of_x_126
        self.valeu_of_x_127
        self.valeu_of_x_128
        self.valeu_of_x_129
        self.valeu_of_x_130
        self.valeu_of_x_131
        self.valeu_of_x_132
        self.valeu_of_x_133
        self.valeu_of_x_134
        self.valeu_of_x_135
        self.valeu_of_x_136
        self.valeu_of_x_137
        self.valeu_of_x_138
        self.valeu_of_x_139
        self.valeu_of_x_140
        self.valeu_of_x_141
        self.valeu_of_x_142
        self.valeu_of_x_143
        self.valeu_of_x_144
        self.valeu_of_x_145
        self.valeu_of_x_146
        self.valeu_of_x_147
        self.valeu_of_x_148
        self.valeu_of_x_149
        self.valeu_of_x_150
        self.valeu_of_x_151
        self.valeu_of_x_152
        self.valeu_of_x_153
        self.valeu_of_x_154
        self.valeu_of_x_155
        self.valeu_of_x_156
        self.valeu_of_x_157
        self.valeu_of_x_158
        self.valeu_of_x_159
        self.valeu_of_x_160
        self.valeu_of_x_161
        self.valeu_of_x_162
        self.valeu_of_x_163
        self.valeu_of_x_164
        self.valeu_of_x_165
        self.valeu_of_x_166
        self.valeu_of_x_167
        self.valeu_of_x_168
        self.valeu_of_x_169
        self.valeu_of_x_170
        self.valeu_of_x_171
        self.valeu_of_x_172
        self.valeu_of_x_173
        self.valeu_of_x_174
        self.valeu_of_x_175
        self.valeu_of_x_176
        self.valeu_of_x_177
        self.valeu_of_x_178
        self.valeu_of_x_179
        self.valeu_of_x_180
        self.valeu_of_x_181
        self.valeu_of_x_182
        self.valeu_of_x_183
        self.valeu_of_x_184
        self.valeu_of_x_185
        self.valeu_of_x_186
        self.valeu_of_x_187
        self.valeu_of_x_188
        self.valeu_of_x_189
        self.valeu_of_x_190
        self.valeu_of_x_191
        self.valeu_of_x_192
        self.valeu_of_x_193
        self.valeu_of_x_194
        self.valeu_of_x_195
        self.valeu_of_x_196
        self.valeu_of_x_197
        self.valeu_of_x_198
        self.valeu_of_x_199
        self.valeu_of_x_200
        self.valeu_of_x_201
        self.valeu_of_x_202
        self.valeu_of_x_203
        self.valeu_of_x_204
        self.valeu_of_x_205
        self.valeu_of_x_206
        self.valeu_of_x_207
        self.valeu_of_x_208
        self.valeu_of_x_209
        self.valeu_of_x_210
        self.valeu_of_x_211
        self.valeu_of_x_212
        self.valeu_of_x_213
        self.valeu_of_x_214
        self.valeu_of_x_215
        self.valeu_of_x_216
        self.valeu_of_x_217
        self.valeu_of_x_218
        self.valeu_of_x_219
        self.valeu_of_x_220
        self.valeu_of_x_221
        self.valeu_of_x_222
        self.valeu_of_x_223
        self.valeu_of_x_224
        self.valeu_of_x_225
        self.valeu_of_x_226
        self.valeu_of_x_227
        self.valeu_of_x_228
        self.valeu_of_x_229
        self.valeu_of_x_230
        self.valeu_of_x_231
        self.valeu_of_x_232
        self.valeu_of_x_233
        self.valeu_of_x_234
        self.valeu_of_x_235
        self.valeu_of_x_236
        self.valeu_of_x_237
        self.valeu_of_x_238
        self.valeu_of_x_239
        self.valeu_of_x_240
        self.valeu_of_x_241
        self.valeu_of_x_242
        self.valeu_of_x_243
        self.valeu_of_x_244
        self.valeu_of_x_245
        self.valeu_of_x_246
        self.valeu_of_x_247
        self.valeu_of_x_248
        self.valeu_of_x_249
        self.valeu_of_x_250
        self.valeu_of_x_251
        self.valeu_of_x_252
        self.valeu_of_x_253
        self.valeu_of_x_254
        self.valeu_of_x_255
        self.valeu_of_x_256
        self.valeu_of_x_257
        self.valeu_of_x_258
        self.valeu_of_x_259
        self.valeu_of_x_260
        self.valeu_of_x_261
        self.valeu_of_x_262
        self.valeu_of_x_263
        self.valeu_of_x_264
        self.valeu_of_x_265
        self.valeu_of_x_266
        self.valeu_of_x_267
        self.valeu_of_x_268
        self.valeu_of_x_269
        self.valeu_of_x_270
        self.valeu_of_x_271
        self.valeu_of_x_272
        self.valeu_of_x_273
        self.valeu_of_x_274
        self.valeu_of_x_275
        self.valeu_of_x_276
        self.valeu_of_x_277
        self.valeu_of_x_278
        self.valeu_of_x_279
        self.valeu_of_x_280
        self.valeu_of_x_281
        self.valeu_of_x_282
        self.valeu_of_x_283
        self.valeu_of_x_284
        self.valeu_of_x_285
        self.valeu_of_x_286
        self.valeu_of_x_287
        self.valeu_of_x_288
        self.valeu_of_x_289
        self.valeu_of_x_290
        self.valeu_of_x_291
        self.valeu_of_x_292
        self.valeu_of_x_293
        self.valeu_of_x_294
        self.valeu_of_x_295
        self.valeu_of_x_296
        self.valeu_of_x_297
        self.valeu_of_x_298
        self.valeu_of_x_299
        self.valeu_of_x_300
        self.valeu_of_x_301
        self.valeu_of_x_302
        self.valeu_of_x_303
        self.valeu_of_x_304
        self.valeu_of_x_305
        self.valeu_of_x_306
        self.valeu_of_x_307
        self.valeu_of_x_308
        self.valeu_of_x_309
        self.valeu_of_x_310
        self.valeu_of_x_311
        self.valeu_of_x_312
        self.valeu_of_x_313
        self.valeu_of_x_314
        self.valeu_of_x_315
        self.valeu_of_x_316
        self.valeu_of_x_317
        self.valeu_of_x_318
        self.valeu_of_x_319
        self.valeu_of_x_320
        self.valeu_of_x_321
        self.valeu_of_x_322
        self.valeu_of_x_323
        self.valeu_of_x_324
        self.valeu_of_x_325
        self.valeu_of_x_326
        self.valeu_of_x_327
        self.valeu_of_x_328
        self.valeu_of_x_329
        self.valeu_of_x_330
        self.valeu_of_x_331
        self.valeu_of_x_332
        self.valeu_of_x_333
        self.valeu_of_x_334
        self.valeu_of_x_335
        self.valeu_of_x_336
        self.valeu_of_x_337
        self.valeu_of_x_338
        self.valeu_of_x_339
        self.valeu_of_x_340
        self.valeu_of_x_341
        self.valeu_of_x_342
        self.valeu_of_x_343
        self.valeu_of_x_344
        self.valeu_of_x_345
        self.valeu_of_x_346
        self.valeu_of_x_347
        self.valeu_of_x_348
        self.valeu_of_x_349
        self.valeu_of_x_350
        self.valeu_of_x_351
        self.valeu_of_x_352
        self.valeu_of_x_353
        self.valeu_of_x_354
        self.valeu_of_x_355
        self.valeu_of_x_356
        self.valeu_of_x_357
        self.valeu_of_x_358
        self.valeu_of_x_359
        self.valeu_of_x_360
        self.valeu_of_x_361
        self.valeu_of_x_362
        self.valeu_of_x_363
        self.valeu_of_x_364
        self.valeu_of_x_365
        self.valeu_of_x_366
        self.valeu_of_x_367
        self.valeu_of_x_368
        self.valeu_of_x_369
        self.valeu_of_x_370
        self.valeu_of_x_371
        self.valeu_of_x_372
        self.valeu_of_x_373
        self.valeu_of_x_374
        self.valeu_of_x_375
        self.valeu_of_x_376
        self.valeu_of_x_377
        self.valeu_of_x_378
        self.valeu_of_x_379
        self.valeu_of_x_380
        self.valeu_of_x_381
        self.valeu_of_x_382
        self.valeu_of_x_383
        self.valeu_of_x_384
        self.valeu_of_x_385
        self.valeu_of_x_386
        self.valeu_of_x_387
        self.valeu_of_x_388
        self.valeu_of_x_389
        self.valeu_of_x_390
        self.valeu_of_x_391
        self.valeu_of_x_392
        self.valeu_of_x_393
        self.valeu_of_x_394
        self.valeu_of_x_395
        self.valeu_of_x_396
        self.valeu_of_x_397
        self.valeu_of_x_398
        self.valeu_of_x_399
        self.valeu_of_x_400
        self.valeu_of_x_401
        self.valeu_of_x_402
        self.valeu_of_x_403
        self.valeu_of_x_404
        self.valeu_of_x_405
        self.valeu_of_x_406
        self.valeu_of_x_407
        self.valeu_of_x_408
        self.valeu_of_x_409
        self.valeu_of_x_410
        self.valeu_of_x_411
        self.valeu_of_x_412
        self.valeu_of_x_413
        self.valeu_of_x_414
        self.valeu_of_x_415
        self.valeu_of_x_416
        self.valeu_of_x_417
        self.valeu_of_x_418
        self.valeu_of_x_419
        self.valeu_of_x_420
        self.valeu_of_x_421
        self.valeu_of_x_422
        self.valeu_of_x_423
        self.valeu_of_x_424
        self.valeu_of_x_425
        self.valeu_of_x_426
        self.valeu_of_x_427
        self.valeu_of_x_428
        self.valeu_of_x_429
        self.valeu_of_x_430
        self.valeu_of_x_431
        self.valeu_of_x_432
        self.valeu_of_x_433
        self.valeu_of_x_434
        self.valeu_of_x_435
        self.valeu_of_x_436
        self.valeu_of_x_437
        self.valeu_of_x_438
        self.valeu_of_x_439
        self.valeu_of_x_440
        self.valeu_of_x_441
        self.valeu_of_x_442
        self.valeu_of_x_443
        self.valeu_of_x_444
        self.valeu_of_x_445
        self.valeu_of_x_446
        self.valeu_of_x_447
        self.valeu_of_x_448
        self.valeu_of_x_449
        self.valeu_of_x_450
        self.valeu_of_x_451
        self.valeu_of_x_452
        self.valeu_of_x_453
        self.valeu_of_x_454
        self.valeu_of_x_455
        self.valeu_of_x_456
        self.valeu_of_x_457
        self.valeu_of_x_458
        self.valeu_of_x_459
        self.valeu_of_x_460
        self.valeu_of_x_461
        self.valeu_of_x_462
        self.valeu_of_x_463
        self.valeu_of_x_464
        self.valeu_of_x_465
        self.valeu_of_x_466
        self.valeu_of_x_467
        self.valeu_of_x_468
        self.valeu_of_x_469
        self.valeu_of_x_470
        self.valeu_of_x_471
        self.valeu_of_x_472
        self.valeu_of_x_473
        self.valeu_of_x_474
        self.valeu_of_x_475
        self.valeu_of_x_476
        self.valeu_of_x_477
        self.valeu_of_x_478
        self.valeu_of_x_479
        self.valeu_of_x_480
        self.valeu_of_x_481
        self.valeu_of_x_482
        self.valeu_of_x_483
        self.valeu_of_x_484
        self.valeu_of_x_485
        self.valeu_of_x_486
        self.valeu_of_x_487
        self.valeu_of_x_488
        self.valeu_of_x_489
        self.valeu_of_x_490
        self.valeu_of_x_491
        self.valeu_of_x_492
        self.valeu_of_x_493
        self.valeu_of_x_494
        self.valeu_of_x_495
        self.valeu_of_x_496
        self.valeu_of_x_497
        self.valeu_of_x_498
        self.valeu_of_x_499
        self.valeu_of_x_500
        self.valeu_of_x_501
        self.valeu_of_x_502
        self.valeu_of_x_503
        self.valeu_of_x_504
        self.valeu_of_x_505
        self.valeu_of_x_506
        self.valeu_of_x_507
        self.valeu_of_x_508
        self.valeu_of_x_509
        self.valeu_of_x_510
        self.valeu_of_x_511
        self.valeu_of_x_512
        self.valeu_of_x_513
        self.valeu_of_x_514
        self.valeu_of_x_515
        self.valeu_of_x_516
        self.valeu_of_x_517
        self.valeu_of_x_518
        self.valeu_of_x_519
        self.valeu_of_x_520
        self.valeu_of_x_521
        self.valeu_of_x_522
        self.valeu_of_x_523
        self.valeu_of_x_524
        self.valeu_of_x_525
        self.valeu_of_x_526
        self.valeu_of_x_527
        self.valeu_of_x_528
        self.valeu_of_x_529
        self.valeu_of_x_530
        self.valeu_of_x_531
        self.valeu_of_x_532
        self.valeu_of_x_533
        self.valeu_of_x_534
        self.valeu_of_x_535
        self.valeu_of_x_536
        self.valeu_of_x_537
        self.valeu_of_x_538
        self.valeu_of_x_539
        self.valeu_of_x_540
        self.valeu_of_x_541
        self.valeu_of_x_542
        self.valeu_of_x_543
        self.valeu_of_x_544
        self.valeu_of_x_545
        self.valeu_of_x_546
        self.valeu_of_x_547
        self.valeu_of_x_548
        self.valeu_of_x_549
        self.valeu_of_x_550
        self.valeu_of_x_551
        self.valeu_of_x_552
        self.valeu_of_x_553
        self.valeu_of_x_554
        self.valeu_of_x_555
        self.valeu_of_x_556
        self.valeu_of_x_557
        self.valeu_of_x_558
        self.valeu_of_x_559
        self.valeu_of_x_560
        self.valeu_of_x_561
        self.valeu_of_x_562
        self.valeu_of_x_563
        self.valeu_of_x_564
        self.valeu_of_x_565
        self.valeu_of_x_566
        self.valeu_of_x_567
        self.valeu_of_x_568
        self.valeu_of_x_569
        self.valeu_of_x_570
        self.valeu_of_x_571
        self.valeu_of_x_572
        self.valeu_of_x_573
        self.valeu_of_x_574
        self.valeu_of_x_575
        self.valeu_of_x_576
        self.valeu_of_x_577
        self.valeu_of_x_578
        self.valeu_of_x_579
        self.valeu_of_x_580
        self.valeu_of_x_581
        self.valeu_of_x_582
        self.valeu_of_x_583
        self.valeu_of_x_584
        self.valeu_of_x_585
        self.valeu_of_x_586
        self.valeu_of_x_587
        self.valeu_of_x_588
        self.valeu_of_x_589
        self.valeu_of_x_590
        self.valeu_of_x_591
        self.valeu_of_x_592
        self.valeu_of_x_593
        self.valeu_of_x_594
        self.valeu_of_x_595
        self.valeu_of_x_596
        self.valeu_of_x_597
        self.valeu_of_x_598
        self.valeu_of_x_599
        self.valeu_of_x_600
        self.valeu_of_x_601
        self.valeu_of_x_602
        self.valeu_of_x_603
        self.valeu_of_x_604
        self.valeu_of_x_605
        self.valeu_of_x_606
        self.valeu_of_x_607
        self.valeu_of_x_608
        self.valeu_of_x_609
        self.valeu_of_x_610
        self.valeu_of_x_611
        self.valeu_of_x_612
        self.valeu_of_x_613
        self.valeu_of_x_614
        self.valeu_of_x_615
        self.valeu_of_x_616
        self.valeu_of_x_617
        self.valeu_of_x_618
        self.valeu_of_x_619
        self.valeu_of_x_620
        self.valeu_of_x_621
        self.valeu_of_x_622
        self.valeu_of_x_623
        self.valeu_of_x_624
        self.valeu_of_x_625
        self.valeu_of_x_626
        self.valeu_of_x_627
        self.valeu_of_x_628
        self.valeu_of_x_629
        self.valeu_of_x_630
        self.valeu_of_x_631
        self.valeu_of_x_632
        self.valeu_of_x_633
        self.valeu_of_x_634
        self.valeu_of_x_635
        self.valeu_of_x_636
        self.valeu_of_x_637
        self.valeu_of_x_638
        self.valeu_of_x_639
        self.valeu_of_x_640
        self.valeu_of_x_641
        self.valeu_of_x_642
        self.valeu_of_x_643
        self.valeu_of_x_644
        self.valeu_of_x_645
        self.valeu_of_x_646
        self.valeu_of_x_647
        self.valeu_of_x_648
        self.valeu_of_x_649
        self.valeu_of_x_650
        self.valeu_of_x_651
        self.valeu_of_x_652
        self.valeu_of_x_653
        self.valeu_of_x_654
        self.valeu_of_x_655
        self.valeu_of_x_656
        self.valeu_of_x_657
        self.valeu_of_x_658
        self.valeu_of_x_659
        self.valeu_of_x_660
        self.valeu_of_x_661
        self.valeu_of_x_662
        self.valeu_of_x_663
        self.valeu_of_x_664
        self.valeu_of_x_665
        self.valeu_of_x_666
        self.valeu_of_x_667
        self.valeu_of_x_668
        self.valeu_of_x_669
        self.valeu_of_x_670
        self.valeu_of_x_671
        self.valeu_of_x_672
        self.valeu_of_x_673
        self.valeu_of_x_674
        self.valeu_of_x_675
        self.valeu_of_x_676
        self.valeu_of_x_677
        self.valeu_of_x_678
        self.valeu_of_x_679
        self.valeu_of_x_680
        self.valeu_of_x_681
        self.valeu_of_x_682
        self.valeu_of_x_683
        self.valeu_of_x_684
        self.valeu_of_x_685
        self.valeu_of_x_686
        self.valeu_of_x_687
        self.valeu_of_x_688
        self.valeu_of_x_689
        self.valeu_of_x_690
        self.valeu_of_x_691
        self.valeu_of_x_692
        self.valeu_of_x_693
        self.valeu_of_x_694
        self.valeu_of_x_695
        self.valeu_of_x_696
        self.valeu_of_x_697
        self.valeu_of_x_698
        self.valeu_of_x_699
        self.valeu_of_x_700
        self.valeu_of_x_701
        self.valeu_of_x_702
        self.valeu_of_x_703
        self.valeu_of_x_704
        self.valeu_of_x_705
        self.valeu_of_x_706
        self.valeu_of_x_707
        self.valeu_of_x_708
        self.valeu_of_x_709
        self.valeu_of_x_710
        self.valeu_of_x_711
        self.valeu_of_x_712
        self.valeu_of_x_713
        self.valeu_of_x_714
        self.valeu_of_x_715
        self.valeu_of_x_716
        self.valeu_of_x_717
        self.valeu_of_x_718
        self.valeu_of_x_719
        self.valeu_of_x_720
        self.valeu_of_x_721
        self.valeu_of_x_722
        self.valeu_of_x_723
        self.valeu_of_x_724
        self.valeu_of_x_725
        self.valeu_of_x_726
        self.valeu_of_x_727
        self.valeu_of_x_728
        self.valeu_of_x_729
        self.valeu_of_x_730
        self.valeu_of_x_731
        self.valeu_of_x_732
        self.valeu_of_x_733
        self.valeu_of_x_734
        self.valeu_of_x_735
        self.valeu_of_x_736
        self.valeu_of_x_737
        self.valeu_of_x_738
        self.valeu_of_x_739
        self.valeu_of_x_740
        self.valeu_of_x_741
        self.valeu_of_x_742
        self.valeu_of_x_743
        self.valeu_of_x_744
        self.valeu_of_x_745
        self.valeu_of_x_746
        self.valeu_of_x_747
        self.valeu_of_x_748
        self.valeu_of_x_749
        self.valeu_of_x_750
        self.valeu_of_x_751
        self.valeu_of_x_752
        self.valeu_of_x_753
        self.valeu_of_x_754
        self.valeu_of_x_755
        self.valeu_of_x_756
        self.valeu_of_x_757
        self.valeu_of_x_758
        self.valeu_of_x_759
        self.valeu_of_x_760
        self.valeu_of_x_761
        self.valeu_of_x_762
        self.valeu_of_x_763
        self.valeu_of_x_764
        self.valeu_of_x_765
        self.valeu_of_x_766
        self.valeu_of_x_767
        self.valeu_of_x_768
        self.valeu_of_x_769
        self.valeu_of_x_770
        self.valeu_of_x_771
        self.valeu_of_x_772
        self.valeu_of_x_773
        self.valeu_of_x_774
        self.valeu_of_x_775
        self.valeu_of_x_776
        self.valeu_of_x_777
        self.valeu_of_x_778
        self.valeu_of_x_779
        self.valeu_of_x_780
        self.valeu_of_x_781
        self.valeu_of_x_782
        self.valeu_of_x_783
        self.valeu_of_x_784
        self.valeu_of_x_785
        self.valeu_of_x_786
        self.valeu_of_x_787
        self.valeu_of_x_788
        self.valeu_of_x_789
        self.valeu_of_x_790
        self.valeu_of_x_791
        self.valeu_of_x_792
        self.valeu_of_x_793
        self.valeu_of_x_794
        self.valeu_of_x_795
        self.valeu_of_x_796
        self.valeu_of_x_797
        self.valeu_of_x_798
        self.valeu_of_x_799
